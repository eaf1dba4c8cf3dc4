"""Answers, failures and outcomes <-> messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from protos.codec.errors import ContractError, to_enum
from protos.codec.guidance import (
    guidance_from_proto,
    guidance_to_proto,
    valid_while_from_proto,
    valid_while_to_proto,
)
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import (
    Answer,
    AnswerKind,
    AskOutcome,
    CacheStatus,
    DropReason,
    Failure,
    NoneReason,
    Outcome,
    Timing,
)

NO_TIMING = Timing()


def answer_to_proto(answer: Answer) -> pb.AnswerBatch:
    message = pb.AnswerBatch(
        kind=cast("pb.AnswerKind", int(answer.kind)),
        provider_ids=answer.provider_ids,
        session_generation=answer.session_generation,
        lane=answer.lanes,
        ask_id=answer.ask_ids,
        episode=answer.episodes,
        step=answer.steps,
        lane_generation=answer.lane_generations,
        seq=answer.seqs,
        supersedes=answer.supersedes,
        obs_time_ns=answer.obs_time_ns,
        price_usd=answer.prices_usd,
        confidence=answer.confidence,
        guidance=None if answer.guidance is None else guidance_to_proto(answer.guidance),
        none_reason=cast("pb.NoneReason", int(answer.none_reason or 0)),
        pending=answer.pending,
        ended=answer.ended,
        cache_status=cast("pb.CacheStatus", int(answer.cache_status)),
        age_ms=answer.age_ms,
        attempts=answer.attempts,
        hedged=answer.hedged,
        degraded=answer.degraded,
        leased=answer.leased,
        overhead_us=answer.overhead_us,
        goal_id=answer.goal_id,
    )
    timing = answer.timing
    if timing != NO_TIMING:
        message.timing.queue_us = timing.queue_us
        message.timing.provider_us = timing.provider_us
        message.timing.broker_us = timing.broker_us
    if answer.valid_while is not None:
        message.valid_while.CopyFrom(valid_while_to_proto(answer.valid_while))
    return message


def answer_from_proto(message: pb.AnswerBatch) -> Answer:
    """Raises :class:`ContractError` when columns and guidance do not fit the rows."""
    ask_ids = list(message.ask_id)
    rows = len(ask_ids)
    has_guidance = message.HasField("guidance")
    kind = to_enum(AnswerKind, message.kind, "answer.kind")
    if has_guidance == (kind is AnswerKind.NONE):
        raise ContractError("answer.guidance", "is given exactly when the kind is not NONE")
    lanes, episodes, steps = list(message.lane), list(message.episode), list(message.step)
    generations, seqs = list(message.lane_generation), list(message.seq)
    supersedes, obs_time_ns = list(message.supersedes), list(message.obs_time_ns)
    prices_usd, confidence = list(message.price_usd), list(message.confidence)
    if not len(lanes) == len(episodes) == len(steps) == rows:
        raise _wrong_length(message, rows, _REQUIRED)
    for column in (generations, seqs, supersedes, obs_time_ns, prices_usd, confidence):
        if column and len(column) != rows:
            raise _wrong_length(message, rows, _OPTIONAL)
    return Answer(
        kind=kind,
        provider_ids=tuple(message.provider_ids),
        session_generation=message.session_generation,
        lanes=lanes,
        ask_ids=ask_ids,
        episodes=episodes,
        steps=steps,
        lane_generations=generations,
        seqs=seqs,
        supersedes=supersedes,
        obs_time_ns=obs_time_ns,
        prices_usd=prices_usd,
        confidence=confidence,
        guidance=guidance_from_proto(message.guidance, rows) if has_guidance else None,
        none_reason=to_enum(NoneReason, message.none_reason, "none_reason") if message.none_reason else None,
        pending=message.pending,
        ended=message.ended,
        cache_status=to_enum(
            CacheStatus, message.cache_status, "answer.cache_status", CacheStatus.NOT_LOOKED_UP
        ),
        age_ms=message.age_ms,
        attempts=message.attempts,
        hedged=message.hedged,
        degraded=message.degraded,
        leased=message.leased,
        overhead_us=message.overhead_us,
        timing=_timing_from_proto(message.timing) if message.HasField("timing") else NO_TIMING,
        goal_id=message.goal_id,
        valid_while=valid_while_from_proto(message.valid_while) if message.HasField("valid_while") else None,
    )


_REQUIRED = ("lane", "episode", "step")
_OPTIONAL = ("lane_generation", "seq", "supersedes", "obs_time_ns", "price_usd", "confidence")


def _wrong_length(message: pb.AnswerBatch, rows: int, names: Sequence[str]) -> ContractError:
    """Names the first column that does not fit; an optional one may be empty."""
    lengths = {name: len(getattr(message, name)) for name in names}
    name = next(name for name, length in lengths.items() if length != rows and (length or names is _REQUIRED))
    return ContractError(f"answer.{name}", f"{lengths[name]} entries for {rows} rows", "INVALID_COLUMN")


def _timing_from_proto(message: pb.Timing) -> Timing:
    return Timing(message.queue_us, message.provider_us, message.broker_us)


def failure_to_proto(failure: Failure) -> pb.Failure:
    return pb.Failure(
        lane=failure.lane,
        ask_id=failure.ask_id,
        episode=failure.episode,
        step=failure.step,
        code=failure.code,
        reason=failure.reason,
        message=failure.message,
        field=failure.field,
        retry_after_ms=failure.retry_after_ms,
        outcome=cast("pb.AskOutcome", int(failure.outcome)),
        ended=failure.ended,
    )


def failure_from_proto(message: pb.Failure) -> Failure:
    return Failure(
        lane=message.lane,
        ask_id=message.ask_id,
        episode=message.episode,
        step=message.step,
        code=message.code,
        reason=message.reason,
        message=message.message,
        field=message.field,
        retry_after_ms=message.retry_after_ms,
        outcome=to_enum(AskOutcome, message.outcome, "failure.outcome", AskOutcome.INTERNAL),
        ended=message.ended,
    )


def outcome_to_proto(outcome: Outcome) -> pb.Outcome:
    return pb.Outcome(
        lane=outcome.lane,
        ask_id=outcome.ask_id,
        used=outcome.used,
        weight=outcome.weight,
        steps_held=outcome.steps_held,
        reward_sum=outcome.reward_sum,
        discounted_reward_sum=outcome.discounted_reward_sum,
        value_before=outcome.value_before,
        value_after=outcome.value_after,
        episode_ended=outcome.episode_ended,
        delay_steps=outcome.delay_steps,
        rows_received=outcome.rows_received,
        rows_used=outcome.rows_used,
        rows_late=outcome.rows_late,
        rows_merged=outcome.rows_merged,
        rows_clipped=outcome.rows_clipped,
        starved_steps=outcome.starved_steps,
        drop_reason=cast("pb.Outcome.DropReason", int(outcome.drop_reason)),
    )


def outcome_from_proto(message: pb.Outcome) -> Outcome:
    """Raises :class:`ContractError` naming the number that is not finite."""
    for name in ("weight", "reward_sum", "discounted_reward_sum", "value_before", "value_after"):
        if not math.isfinite(getattr(message, name)):
            raise ContractError(f"outcome.{name}", "is not finite", "NON_FINITE")
    return Outcome(
        lane=message.lane,
        ask_id=message.ask_id,
        used=message.used,
        weight=message.weight,
        steps_held=message.steps_held,
        reward_sum=message.reward_sum,
        discounted_reward_sum=message.discounted_reward_sum,
        value_before=message.value_before,
        value_after=message.value_after,
        episode_ended=message.episode_ended,
        delay_steps=message.delay_steps,
        rows_received=message.rows_received,
        rows_used=message.rows_used,
        rows_late=message.rows_late,
        rows_merged=message.rows_merged,
        rows_clipped=message.rows_clipped,
        starved_steps=message.starved_steps,
        drop_reason=to_enum(DropReason, message.drop_reason, "outcome.drop_reason", DropReason.NONE),
    )
