"""What became of each lease, reported to the broker when it ends: what routing and statistics learn from."""

from __future__ import annotations

from dataclasses import dataclass

from agents.client import Session
from meta_policy.view import Floats
from protos.types import Outcome


@dataclass(slots=True)
class _Open:
    ask_id: int
    steps: int = 0
    used: int = 0
    reward_sum: float = 0.0


class LeaseReports:
    """At most one open lease a lane."""

    def __init__(self, session: Session, lanes: int) -> None:
        self._session = session
        self._open: list[_Open | None] = [None] * lanes

    def open(self, lane: int, ask_id: int) -> None:
        self.close(lane)
        self._open[lane] = _Open(ask_id)

    def used(self, lane: int) -> None:
        """This step was executed by the lease's answer."""
        lease = self._open[lane]
        if lease is not None:
            lease.used += 1

    def reward(self, reward: Floats) -> None:
        """What one step brought on every lane `[B]`."""
        for lane, lease in enumerate(self._open):
            if lease is not None:
                lease.steps += 1
                lease.reward_sum += float(reward[lane])

    def close(self, lane: int, episode_ended: bool = False) -> None:
        """The lease of a lane, if there is one, is over."""
        lease, self._open[lane] = self._open[lane], None
        if lease is None:
            return
        self._session.report(
            Outcome(
                lane=lane,
                ask_id=lease.ask_id,
                used=lease.used > 0,
                steps_held=lease.steps,
                reward_sum=lease.reward_sum,
                episode_ended=episode_ended,
                rows_received=lease.steps,
                rows_used=lease.used,
                starved_steps=lease.steps - lease.used,
            )
        )
