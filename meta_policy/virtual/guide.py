"""Guidance on a virtual clock: the sources run here, and latencies from traces decide when answers count.

The observation of step t is taken at the start of its control period; its action is due half a period later.
An answer there by then has delay 0, otherwise d = ceil((latency - half a period) / period) steps. It is used
in the step it arrives in if it is at most `max_age_steps` old. Every leased step is charged, late or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.tasks.generator import load_generator, pack_generator
from meta_policy.guide import Exchange, Regime, Request
from meta_policy.view import Counts, Flags, Floats, ProviderSnapshot
from meta_policy.virtual.traces import Traces
from protos.types import ProviderState

NEVER_ARRIVES = -1


@dataclass(frozen=True, slots=True)
class VirtualSource:
    """One source: its answers `[n, A]` for raw observations `[n, O]`, and its price of a leased step."""

    provider_id: str
    answer: Callable[[Floats], NDArray[np.floating]]
    usd_per_step: float


def delay_steps(latency_ms: Floats, period_ms: float) -> Counts:
    """Whole control steps from an observation to the step its answer can be used in; the timing rule above.

    >>> delay_steps(np.array([3.0, 4.0, 4.1, 12.0, 12.1]), period_ms=8.0).tolist()
    [0, 0, 1, 1, 2]
    """
    return np.maximum(np.ceil((latency_ms - period_ms / 2) / period_ms), 0).astype(np.int64)


class VirtualGuide:
    """A guide that never waits. Each lane reads each trace on from a place drawn when its episode began."""

    def __init__(
        self,
        sources: Sequence[VirtualSource],
        traces: Traces,
        lanes: int,
        actions: int,
        period_ms: float,
        regime: Regime = "realtime",
        max_age_steps: int = 0,
        latency_scale: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.sources, self.period_ms, self.regime = tuple(sources), period_ms, regime
        self._traces = [traces.latency_ms[s.provider_id] for s in self.sources]
        self._rng = np.random.default_rng(seed)
        self._at = np.zeros((len(self.sources), lanes), np.int64)  # where each lane reads each trace
        slots = max_age_steps + 1
        self._answer = np.zeros((lanes, slots, actions), np.float32)
        self._arrives = np.full((lanes, slots), NEVER_ARRIVES)
        self._made = np.full((lanes, slots), NEVER_ARRIVES)
        self._by = np.full((lanes, slots), -1)
        self._rows = np.arange(lanes)
        self.rescale(np.full(len(self.sources), latency_scale), np.ones(len(self.sources)))

    @property
    def providers(self) -> ProviderSnapshot:
        return self._snapshot

    def rescale(self, latency: Floats, price: Floats) -> None:
        """From now on multiply every source's latency and price, `[P]` each."""
        self._latency_scale = np.asarray(latency, np.float64)
        self._price_scale = np.asarray(price, np.float64)
        self._price = np.array([s.usd_per_step for s in self.sources]) * price
        at = [np.quantile(t, (0.5, 0.95, 0.99)) * k for t, k in zip(self._traces, latency, strict=True)]
        p50, p95, p99 = np.array(at).T
        count = len(self.sources)
        self._snapshot = ProviderSnapshot(
            tuple(s.provider_id for s in self.sources),
            np.zeros(count),
            self._price,
            p50,
            p95,
            p99,
            np.full(count, int(ProviderState.READY)),
            np.zeros(count, np.int64),
        )

    def get_state(self) -> dict[str, np.ndarray]:
        """Where the traces are read, the answers on their way, the generator and the scales in force."""
        scales = {"latency_scale": self._latency_scale, "price_scale": self._price_scale}
        return {
            **{name: value.copy() for name, value in self._columns().items()},
            **scales,
            "generator": pack_generator(self._rng),
        }

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `get_state` gave."""
        for name, column in self._columns().items():
            column[:] = state[name]
        load_generator(self._rng, state["generator"])
        self.rescale(state["latency_scale"], state["price_scale"])

    async def tick(self) -> int:
        return 0

    async def begin(self, lanes: Counts, episodes: Counts) -> None:
        for p, trace in enumerate(self._traces):
            self._at[p, lanes] = self._rng.integers(len(trace), size=len(lanes))
        self._forget(lanes)

    async def ahead(self, serves: Counts, step: Counts, observation: Floats) -> None:
        """Sending takes no time here."""

    async def exchange(self, request: Request) -> Exchange:
        self._forget(np.flatnonzero(request.cancels))
        latency, price = np.full(len(request.step), np.nan), np.zeros(len(request.step))
        for p in range(len(self.sources)):
            rows = np.flatnonzero(request.serves == p)
            if rows.size:
                latency[rows] = self._serve(p, rows, request)
                price[rows] = self._price[p]
        action, guided, provider = self._take(request.step)
        guided &= request.active
        wait = np.nan_to_num(latency) if self.regime == "blocking" else np.zeros(len(price))
        broken = np.zeros(len(price), np.bool_)
        return Exchange(action, guided, np.where(guided, provider, -1), price, wait, latency, broken)

    def constrain(self, action: NDArray[np.float32]) -> NDArray[np.float32]:
        """The task's hard bounds: torques are scaled to -1 ... 1."""
        return np.clip(action, np.float32(-1), np.float32(1))

    async def settle(self, reward: Floats) -> None:
        """Nobody learns from outcomes here."""

    async def end(self, lanes: Counts, truncated: Flags) -> None:
        self._forget(lanes)

    def _serve(self, p: int, rows: Counts, request: Request) -> Floats:
        """Ask source p for `rows`; the answers are kept until they arrive. Their latencies come back."""
        trace = self._traces[p]
        latency: Floats = trace[self._at[p, rows]] * self._latency_scale[p]
        self._at[p, rows] = (self._at[p, rows] + 1) % len(trace)
        blocking = self.regime == "blocking"
        delay = np.zeros(len(rows), np.int64) if blocking else delay_steps(latency, self.period_ms)
        step = request.step[rows]
        slot = step % self._arrives.shape[1]
        self._answer[rows, slot] = self.sources[p].answer(request.observation[rows])
        self._arrives[rows, slot] = step + delay
        self._made[rows, slot] = step
        self._by[rows, slot] = p
        return latency

    def _take(self, step: Counts) -> tuple[NDArray[np.float32], Flags, Counts]:
        """The newest answer that arrives in this step; a slot is overwritten once its answer is too old."""
        here = (self._arrives == step[:, None]) & (self._made > step[:, None] - self._arrives.shape[1])
        newest = np.where(here, self._made, NEVER_ARRIVES).argmax(axis=1)
        rows = self._rows
        return self._answer[rows, newest], here.any(axis=1), self._by[rows, newest]

    def _columns(self) -> dict[str, np.ndarray]:
        kept = {"at": self._at, "answer": self._answer, "arrives": self._arrives}
        return {**kept, "made": self._made, "by": self._by}

    def _forget(self, lanes: Counts) -> None:
        self._arrives[lanes] = self._made[lanes] = NEVER_ARRIVES
