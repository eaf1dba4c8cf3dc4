"""Answers, made from what a source said, a cache held, or a clock decided. Pure: nothing is sent here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, TypeVar

import numpy as np

from broker.asks.asking import Asking
from broker.cache.interface import CachedAnswer
from broker.calling.interface import Called
from broker.outcomes import AttemptOutcome
from broker.providers.interface import Guided
from protos.types import (
    ActionAdvice,
    Answer,
    AnswerKind,
    AskOutcome,
    CacheStatus,
    Chunk,
    Guidance,
    NoneReason,
    Query,
    Timing,
)

T = TypeVar("T")


class _Address(TypedDict):
    """Which rows an answer is for."""

    lanes: Sequence[int]
    ask_ids: Sequence[int]
    episodes: Sequence[int]
    steps: Sequence[int]
    lane_generations: Sequence[int]
    obs_time_ns: Sequence[int]


_NONE_REASONS = {
    AttemptOutcome.NO_GUIDANCE: NoneReason.NO_GUIDANCE,
    AttemptOutcome.REFUSED: NoneReason.REFUSED,
    AttemptOutcome.DEADLINE: NoneReason.TIMEOUT,
    AttemptOutcome.RATE_LIMITED: NoneReason.SHED,
}


def none_reason(outcome: AttemptOutcome) -> NoneReason:
    """Why a call that was not usable gives nothing."""
    return _NONE_REASONS.get(outcome, NoneReason.NO_GUIDANCE)


def outcome_of(called: Called) -> AskOutcome:
    """What an ask that this call ends counts as."""
    if not called.guided.outcome.usable:
        return AskOutcome.NONE
    return AskOutcome.DEGRADED if called.degraded else AskOutcome.ANSWERED


@dataclass(frozen=True, slots=True, eq=False)
class Landing:
    """A call that completed. ``query`` is what the source was asked; times are the broker clock's seconds."""

    called: Called
    query: Query
    began_at: float
    ended_at: float


def from_call(
    asking: Asking,
    rows: Sequence[int],
    landing: Landing,
    call_rows: Sequence[int],
    prices_usd: Sequence[float],
    *,
    status: CacheStatus = CacheStatus.NOT_LOOKED_UP,
    leased: bool = False,
) -> Answer:
    """The answer of ``rows``, which were rows ``call_rows`` of the call, each at its charged price."""
    called = landing.called
    guided = called.guided
    usable = guided.outcome.usable
    timing = _timing(guided, asking.received_at, landing)
    return Answer(
        kind=AnswerKind.FINAL if usable else AnswerKind.NONE,
        provider_ids=(called.provider_id,),
        prices_usd=prices_usd,
        confidence=_pick(guided.confidence, call_rows),
        guidance=_guidance(asking, rows, landing, call_rows) if usable else None,
        none_reason=None if usable else none_reason(guided.outcome),
        cache_status=status,
        attempts=called.attempts,
        degraded=called.degraded,
        leased=leased,
        overhead_us=max(0, timing.broker_us - timing.provider_us - timing.queue_us),
        timing=timing,
        goal_id=asking.query.options.goal.goal_id,
        valid_while=guided.valid_while if usable else None,
        **_address(asking.query, rows),
    )


def _guidance(
    asking: Asking, rows: Sequence[int], landing: Landing, call_rows: Sequence[int]
) -> Guidance | None:
    guidance = landing.called.guided.guidance
    if guidance is None:
        return None
    guidance = rows_of(guidance, call_rows)
    if not isinstance(guidance, Chunk):
        return guidance
    own, asked = asking.query.steps, landing.query.steps
    return moved(guidance, [own[row] - asked[at] for row, at in zip(rows, call_rows, strict=True)])


def from_cache(asking: Asking, row: int, hit: CachedAnswer, now: float) -> Answer:
    """The answer of one row out of the cache; it costs nothing."""
    spent_us = int((now - asking.received_at) * 1e6)
    return Answer(
        kind=AnswerKind.FINAL,
        provider_ids=(hit.provider_id,),
        prices_usd=[0.0],
        confidence=() if hit.confidence is None else (hit.confidence,),
        guidance=moved(hit.guidance, [asking.query.steps[row]]),
        cache_status=CacheStatus.HIT,
        age_ms=int((now - hit.stored_at) * 1000),
        overhead_us=spent_us,
        timing=Timing(broker_us=spent_us),
        goal_id=asking.query.options.goal.goal_id,
        valid_while=hit.valid_while,
        **_address(asking.query, [row]),
    )


def again(asking: Asking, row: int, kept: Answer, at: int) -> Answer:
    """Row ``at`` of an answer that was given before, addressed to the same ask asked again."""
    return replace(
        kept,
        prices_usd=[kept.prices_usd[at]] if kept.prices_usd else (),
        confidence=[kept.confidence[at]] if kept.confidence else (),
        guidance=None if kept.guidance is None else rows_of(kept.guidance, [at]),
        session_generation=0,
        seqs=(),
        supersedes=(),
        **_address(asking.query, [row]),
    )


def nothing(
    asking: Asking,
    rows: Sequence[int],
    reason: NoneReason,
    *,
    provider_id: str = "",
    pending: bool = False,
    leased: bool = False,
    status: CacheStatus = CacheStatus.NOT_LOOKED_UP,
) -> Answer:
    """NONE, by the broker's own decision. ``pending``: the ask lives on until its final clock."""
    return Answer(
        kind=AnswerKind.NONE,
        provider_ids=(provider_id,) if provider_id else (),
        prices_usd=[0.0] * len(rows),
        none_reason=reason,
        pending=pending,
        ended=not pending,
        leased=leased,
        cache_status=status,
        goal_id=asking.query.options.goal.goal_id,
        **_address(asking.query, rows),
    )


def rows_of(guidance: Guidance, rows: Sequence[int]) -> Guidance:
    """Some rows of batched guidance; kinds that stand for one row are returned as they are."""
    if isinstance(guidance, ActionAdvice):
        if _all(rows, len(guidance.actions)):
            return guidance
        return ActionAdvice(guidance.actions[np.asarray(rows, np.intp)], guidance.discrete)
    if isinstance(guidance, Chunk) and not _all(rows, len(guidance.actions)):
        actions = guidance.actions[np.asarray(rows, np.intp)]
        return replace(guidance, actions=actions, first_steps=[guidance.first_steps[row] for row in rows])
    return guidance


def moved(guidance: Guidance, steps: Sequence[int]) -> Guidance:
    """Guidance as for the same question asked ``steps`` later, row by row. Only chunks count steps."""
    if not isinstance(guidance, Chunk):
        return guidance
    return replace(guidance, first_steps=[f + s for f, s in zip(guidance.first_steps, steps, strict=True)])


def _timing(guided: Guided, received_at: float, landing: Landing) -> Timing:
    took_us = int((landing.ended_at - landing.began_at) * 1e6)
    provider_us = guided.provider_us or max(0, took_us - guided.queue_us)
    return Timing(guided.queue_us, provider_us, int((landing.ended_at - received_at) * 1e6))


def _address(query: Query, rows: Sequence[int]) -> _Address:
    whole = _all(rows, query.rows)
    return {
        "lanes": query.lanes if whole else _pick(query.lanes, rows),
        "ask_ids": query.ask_ids if whole else _pick(query.ask_ids, rows),
        "episodes": query.episodes if whole else _pick(query.episodes, rows),
        "steps": query.steps if whole else _pick(query.steps, rows),
        "lane_generations": query.lane_generations if whole else _pick(query.lane_generations, rows),
        "obs_time_ns": query.obs_time_ns if whole else _pick(query.obs_time_ns, rows),
    }


def _pick(column: Sequence[T], rows: Sequence[int]) -> Sequence[T]:
    return [column[row] for row in rows] if column else column


def _all(rows: Sequence[int], count: int) -> bool:
    """Whether these are all rows, in order."""
    return rows == range(count) or (len(rows) == count and list(rows) == list(range(count)))
