"""From what a lane knows to what the head sees: named columns of about unit size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meta_policy.view import LaneView

Float = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Features:
    """The columns for one executor and one provider table, in an order that the head's file records.

    return_scale: unit of values, from the executor; rate: return per USD; max_steps of an episode.
    """

    observations: int
    actions: int
    provider_ids: tuple[str, ...]
    return_scale: float
    rate: float
    max_steps: int

    @property
    def names(self) -> tuple[str, ...]:
        """One a column."""
        lane = [f"observation.{i}" for i in range(self.observations)]
        lane += [f"own_action.{i}" for i in range(self.actions)]
        lane += ["value_mean", "value_spread", "log_value_spread", "entropy", "episode_share"]
        lane += ["lease_left", "lease_young", "guided_lately", "switched_lately"]
        lane += ["budget_left", "beta", "log_beta"]
        each = ("leasing", "acted_last", "guided_last", "step_cost", "late_share", "p50_late", "p95_late")
        each += ("ready", "queued")
        return tuple(lane + [f"{p}.{name}" for p in self.provider_ids for name in each])

    def __len__(self) -> int:
        return len(self.names)

    def __call__(self, view: LaneView) -> Float:
        """`[B, F]`"""
        columns = [view.seen, view.own_action, self._lane(view), *self._providers(view)]
        return np.concatenate(columns, axis=1, dtype=np.float32)

    def _lane(self, view: LaneView) -> NDArray[np.float64]:
        spread = view.value_spread / self.return_scale
        dearest = max(float(view.providers.usd_per_step.max()), 1e-12)
        return np.stack(
            [
                view.value_mean / self.return_scale,
                10.0 * spread,
                np.log(spread + 1e-4),
                view.entropy,
                view.step / self.max_steps,
                np.log1p(view.lease_left),
                (view.lease_left > 0) * np.exp(-view.lease_age / 10.0),
                np.exp(-np.minimum(view.last_age, 1000) / 10.0),
                np.exp(-np.minimum(view.since_switch, 1000) / 10.0),
                np.minimum(view.budget_left / (dearest * self.max_steps), 1.0),
                np.minimum(view.beta, 10.0) / 3.0,
                np.log(view.beta + 0.05),
            ],
            axis=1,
        )

    def _providers(self, view: LaneView) -> list[NDArray[np.float64]]:
        """One block of nine columns a provider, in the order of the table.

        Latency is shown by what it does. How early an answer comes makes no difference to acting, so nothing
        of that is seen; how late it comes does.
        """
        table, one = view.providers, np.ones(len(view.step))
        blocks = []
        for p in range(len(self.provider_ids)):
            cost = self.rate * table.usd_per_step[p]
            quantiles = table.p50_ms[p], table.p95_ms[p], table.p99_ms[p]
            late = (late_share(*quantiles, view.period_ms), *late_steps(quantiles[:2], view.period_ms))
            columns = [view.lease_provider == p, view.origin == p, view.last_provider == p, cost * view.beta]
            columns += [one * late[0], one * np.log1p(late[1]), one * np.log1p(late[2])]
            columns += [one * table.ready[p], one * np.log1p(table.queued[p])]
            blocks.append(np.stack(columns, axis=1).astype(np.float64))
        return blocks


def late_share(p50_ms: float, p95_ms: float, p99_ms: float, period_ms: float) -> float:
    """The share of answers that miss the moment the action is due, half a period after its observation.

    Linear between the quantiles; 0.01 where even p99 is in time.

    >>> round(late_share(2.0, 6.0, 9.0, period_ms=8.0), 3)
    0.275
    """
    due = period_ms / 2
    return 1.0 - float(np.interp(due, (0.0, p50_ms, p95_ms, p99_ms), (0.0, 0.5, 0.95, 0.99)))


def late_steps(latencies_ms: Sequence[float], period_ms: float) -> list[float]:
    """By how many control periods answers of these latencies miss that moment, 0 where they do not."""
    return [max(ms / period_ms - 0.5, 0.0) for ms in latencies_ms]
