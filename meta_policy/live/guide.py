"""The guide over a live broker: the same exchange as on the virtual clock, with a real wire and real time.

In realtime every step begins with its tick; what is to be sent goes out at once; answers are waited for
until half a control period after the tick, the moment the action is due. A later answer is dropped for
acting by the session where it is older than `max_age_steps`, and is charged all the same. In the blocking
regime nothing is paced: the environment stands still until every answer has come.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from agents.client import GuidanceClient, Session
from agents.tasks import task_info
from meta_policy.guide import Exchange, Regime, Request
from meta_policy.live.arrivals import Arrivals
from meta_policy.live.lease_reports import LeaseReports
from meta_policy.live.pacing import COARSE_S, Ticker
from meta_policy.live.table import LiveTable, Quantiles
from meta_policy.presets import Preset
from meta_policy.view import Counts, Flags, Floats, ProviderSnapshot
from protos.types import AskOptions, BoxAction, GuidanceKind, LaneSpec, TensorSpec

BLOCKING_TIMEOUT_S = 5.0
"""In the blocking regime an answer that takes longer counts as none."""

FINAL_BY_MS = 1_000
OBSERVATION = "observation"


async def open_lanes(
    client: GuidanceClient, preset: Preset, lanes: int, period_scale: float = 1.0, timeout_s: float = 10.0
) -> Session:
    """A session of `lanes` lanes with the task's schema; raises what `open_session` raises."""
    info = task_info(preset.task)
    action = BoxAction((info.action_dim,), info.action_low, info.action_high, info.action_names)
    period_us = round(info.period_us * period_scale)
    return await client.open_session(
        preset.task,
        [TensorSpec(OBSERVATION, np.dtype(np.float64), (info.observation_dim,))],
        action,
        [LaneSpec(lane, period_us, info.action_names) for lane in range(lanes)],
        connect_timeout_s=timeout_s,
    )


class LiveGuide:
    """B lanes of one session. `expected` are latency quantiles to go by until enough has been measured."""

    def __init__(
        self,
        session: Session,
        provider_ids: Sequence[str],
        lanes: int,
        actions: int,
        period_ms: float,
        regime: Regime = "realtime",
        max_age_steps: int = 0,
        expected: Mapping[str, Quantiles] | None = None,
    ) -> None:
        self.session, self.regime = session, regime
        self.ticker = Ticker(period_ms / 1000)
        self.arrivals = Arrivals(provider_ids, lanes)
        self.table = LiveTable(session, provider_ids, self.arrivals, expected or {})
        self._ids, self._index = tuple(provider_ids), {name: i for i, name in enumerate(provider_ids)}
        self._max_age_steps = max_age_steps
        self._options: dict[tuple[int, int], AskOptions] = {}
        self._reports = LeaseReports(session, lanes)
        self._ask_id = [0] * lanes
        self._left: Counts = np.zeros(lanes, np.int64)  # steps of the lease still to come, this one included
        self._actions = actions
        self._step: Counts = np.zeros(lanes, np.int64)
        self._active: Flags = np.zeros(lanes, np.bool_)
        self._episodes = 0
        self._sent: list[int] | None = None  # lanes whose observation went ahead; None before that
        self.asks_of = [0] * len(self._ids)  # asks by provider, so far
        self._began = time.monotonic()
        session.listen(self.arrivals.take)

    @property
    def providers(self) -> ProviderSnapshot:
        return self.table.snapshot

    async def tick(self) -> int:
        """Control periods that went by unserved before this one began."""
        missed = self.ticker.missed
        if self.regime == "realtime":
            self._began = await self.ticker.tick()
        else:
            await asyncio.sleep(0)
            self._began = time.monotonic()
        self.table.refresh()
        return self.ticker.missed - missed

    async def begin(self, lanes: Counts, episodes: Counts) -> None:
        if not self._active.any():
            self.ticker.pause()  # nothing was controlled meanwhile: the schedule starts anew
        self._active[lanes] = True
        for lane in lanes.tolist():
            self._episodes += 1
            self.session.start_episode(lane, self._episodes)
        self._left[lanes] = 0

    async def ahead(self, serves: Counts, step: Counts, observation: Floats) -> None:
        self.arrivals.begin_step(step, self._began)
        self._sent = self._observe(np.flatnonzero(serves >= 0), step, observation)
        if self._sent:
            await asyncio.sleep(0)  # one turn of the loop puts it on the wire

    async def exchange(self, request: Request) -> Exchange:
        self._step, self._active = request.step, request.active.copy()
        if self._sent is None:
            await self.ahead(np.full(len(request.step), -1), request.step, request.observation)
        for lane in np.flatnonzero(request.cancels).tolist():
            self.session.cancel(self._ask_id[lane])
            self._reports.close(lane)
        self._left[request.cancels] = 0
        sent, self._sent = self._sent or [], None
        going_on = (request.serves >= 0) & (request.opens < 0)
        going_on[sent] = False
        sent += self._ask(request)
        sent += self._observe(np.flatnonzero(going_on), request.step, request.observation)
        await self._wait(sent, [int(request.step[lane]) for lane in sent])
        return self._gather(request, sent)

    def constrain(self, action: NDArray[np.float32]) -> NDArray[np.float32]:
        allowed = action.copy()
        for lane in np.flatnonzero(self._active).tolist():
            allowed[lane], _ = self.session.constrain(lane, int(self._step[lane]), action[lane])
        return allowed

    async def settle(self, reward: Floats) -> None:
        self._reports.reward(reward)
        for lane in np.flatnonzero(self._left == 1).tolist():
            self._reports.close(lane)
        self._left = np.maximum(self._left - 1, 0)

    async def end(self, lanes: Counts, truncated: Flags) -> None:
        for lane, cut in zip(lanes.tolist(), truncated.tolist(), strict=True):
            self._reports.close(lane, episode_ended=True)
            self.session.end_episode(lane, cut)
        self._left[lanes] = 0
        self._active[lanes] = False

    def _ask(self, request: Request) -> list[int]:
        """Open leases, those of one provider and hold in one ask; the lanes whose ask went out."""
        groups: dict[tuple[int, int], list[int]] = {}
        for lane in np.flatnonzero(request.opens >= 0).tolist():
            groups.setdefault((int(request.opens[lane]), int(request.hold[lane])), []).append(lane)
        sent = []
        for (provider, hold), lanes in groups.items():
            observation = {OBSERVATION: request.observation[lanes]}
            ids = self.session.ask(lanes, request.step[lanes], observation, self._asks(provider, hold))
            for lane, ask_id in zip(lanes, ids, strict=True):
                self._ask_id[lane] = ask_id
                self._reports.open(lane, ask_id)
            self._left[lanes] = hold
            self.asks_of[provider] += len(lanes)
            sent += [
                lane for lane, ask_id in zip(lanes, ids, strict=True) if not self.session.outcome(ask_id)
            ]
        return sent

    def _observe(self, lanes: Counts, step: Counts, observation: Floats) -> list[int]:
        """The observations that running leases of `lanes` want; the lanes for which one went out."""
        if not lanes.size:
            return []
        return self.session.observe(lanes, step[lanes], {OBSERVATION: observation[lanes]})

    def _asks(self, provider: int, hold: int) -> AskOptions:
        key = (provider, hold)
        if key not in self._options:
            self._options[key] = AskOptions(
                provider_id=self._ids[provider],
                kinds=frozenset({GuidanceKind.ACTION}),
                final_by_ms=FINAL_BY_MS,
                hold_steps=hold,
                max_age_steps=self._max_age_steps,
            )
        return self._options[key]

    async def _wait(self, lanes: list[int], steps: list[int]) -> None:
        """Until all has come or the action is due. The last stretch turns the loop: its timers are coarse."""
        if not lanes:
            return
        if self.regime == "blocking":
            await self.session.settled(lanes, steps, BLOCKING_TIMEOUT_S)
            return
        due = self._began + self.ticker.period_s / 2
        coarse = due - time.monotonic() - COARSE_S
        settled = coarse > 0 and await self.session.settled(lanes, steps, coarse)
        while not settled:
            settled = await self.session.settled(lanes, steps, 0.0) or time.monotonic() >= due

    def _gather(self, request: Request, sent: list[int]) -> Exchange:
        count = len(request.step)
        action = np.zeros((count, self._actions), np.float32)
        guided, provider = np.zeros(count, np.bool_), np.full(count, -1)
        for lane in np.flatnonzero(request.serves >= 0).tolist():
            advice = self.session.advice(lane, int(request.step[lane]))
            if advice is not None:
                action[lane] = advice.action
                guided[lane] = True
                provider[lane] = self._index.get(advice.provider_id, request.serves[lane])
                self._reports.used(lane)
        latency = self.arrivals.latency_ms.copy()
        blocking = self.regime == "blocking"
        wait = np.nan_to_num(latency) if blocking else np.zeros(count)
        broken = self._broken(request, sent)
        return Exchange(action, guided, provider, self.arrivals.charged_usd(), wait, latency, broken)

    def _broken(self, request: Request, sent: list[int]) -> Flags:
        """Leases with steps to come that the broker has ended, or that never began."""
        broken = request.serves >= 0
        broken[sent] = False
        for lane in sent:
            if self._left[lane] > 1 and self.session.outcome(self._ask_id[lane]) is not None:
                broken[lane] = True
        self._left[broken] = 0
        return broken
