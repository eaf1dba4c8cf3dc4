"""What comes back for a row: an answer that says what it is, or a failure that says why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from protos.types.guidance import Guidance, ValidWhile
from protos.types.outcomes import AskOutcome


class AnswerKind(IntEnum):
    PREDICTED = 1
    FINAL = 2
    CORRECTION = 3
    NONE = 4


class NoneReason(IntEnum):
    """Why there is no guidance. A closed set: nothing is filtered in silence."""

    SIMILAR = 1
    REFUSED = 2
    NO_GUIDANCE = 3
    LATE = 4
    STALE_GENERATION = 5
    SHED = 6
    TIMEOUT = 7


class CacheStatus(IntEnum):
    NOT_LOOKED_UP = 0
    MISS = 1
    HIT = 2
    STALE = 3
    COALESCED = 4


@dataclass(frozen=True, slots=True)
class Timing:
    queue_us: int = 0
    provider_us: int = 0
    broker_us: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """B rows of the same provenance. ``prices_usd`` are charged prices, not listed ones."""

    kind: AnswerKind
    provider_ids: tuple[str, ...]
    lanes: Sequence[int]
    ask_ids: Sequence[int]
    episodes: Sequence[int]
    steps: Sequence[int]
    lane_generations: Sequence[int] = ()
    session_generation: int = 0
    seqs: Sequence[int] = ()
    supersedes: Sequence[int] = ()
    obs_time_ns: Sequence[int] = ()
    prices_usd: Sequence[float] = ()
    confidence: Sequence[float] = ()
    guidance: Guidance | None = None
    none_reason: NoneReason | None = None
    pending: bool = False
    ended: bool = True
    cache_status: CacheStatus = CacheStatus.NOT_LOOKED_UP
    age_ms: int = 0
    attempts: int = 0
    hedged: bool = False
    degraded: bool = False
    leased: bool = False
    overhead_us: int = 0
    timing: Timing = Timing()
    goal_id: str = ""
    valid_while: ValidWhile | None = None

    @property
    def rows(self) -> int:
        return len(self.ask_ids)


@dataclass(frozen=True, slots=True)
class Failure:
    """One row that failed. ``code`` is a gRPC status number; ``message`` never holds internal text."""

    lane: int
    ask_id: int
    episode: int
    step: int
    code: int
    reason: str
    message: str
    field: str = ""
    retry_after_ms: int = 0
    outcome: AskOutcome = AskOutcome.INTERNAL
    ended: bool = True
