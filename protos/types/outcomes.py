"""How asks end, and what became of their answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class AskOutcome(IntEnum):
    """How one ask ended for its caller. Counted exactly once an ask."""

    ANSWERED = 1
    PREDICTED = 2
    CACHED = 3
    DEGRADED = 4
    NONE = 5
    OVER_BUDGET = 6
    SHED = 7
    UNAVAILABLE = 8
    DEADLINE = 9
    CANCELLED = 10
    CALLER_FAULT = 11
    INTERNAL = 12


class DropReason(IntEnum):
    NONE = 0
    LATE = 1
    LATE_PREFIX = 2
    STALE_GENERATION = 3
    SUPERSEDED = 4
    DECLINED = 5
    CONSTRAINED = 6


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one ask: what routing, fusion and the meta-policy learn from."""

    lane: int
    ask_id: int
    used: bool
    weight: float = 1.0
    steps_held: int = 0
    reward_sum: float = 0.0
    discounted_reward_sum: float = 0.0
    value_before: float = 0.0
    value_after: float = 0.0
    episode_ended: bool = False
    delay_steps: int = 0
    rows_received: int = 0
    rows_used: int = 0
    rows_late: int = 0
    rows_merged: int = 0
    rows_clipped: int = 0
    starved_steps: int = 0
    drop_reason: DropReason = DropReason.NONE
