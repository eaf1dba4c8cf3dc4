"""What is said to a remote source, and whether what it says can be believed. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from broker.outcomes import AttemptOutcome
from broker.providers.interface import Guided, Usage
from broker.providers.making import SetupError
from broker.task_folder import TaskFolder
from protos import codec
from protos.guidance.v1 import provider_pb2 as pb
from protos.types import (
    NO_TENSORS,
    ActionAdvice,
    BoxAction,
    Chunk,
    Guidance,
    GuidanceKind,
    ProviderInfo,
    Query,
    Reads,
    StateScope,
)

_OUTCOMES = {
    pb.GUIDE_OUTCOME_OK: AttemptOutcome.OK,
    pb.GUIDE_OUTCOME_NO_GUIDANCE: AttemptOutcome.NO_GUIDANCE,
    pb.GUIDE_OUTCOME_REFUSED: AttemptOutcome.REFUSED,
}


def guide_request(task: str, query: Query, reads: Reads, first_id: int) -> pb.GuideRequest:
    """The query under ids of the broker's own, without what the source does not read.

    No name, lane or episode of an agent is passed on. The clock is the call's deadline.
    """
    rows = range(query.rows)
    sent = replace(
        query,
        options=replace(
            query.options, provider_id="", first_answer_by_ms=None, final_by_ms=None, max_price_usd=None
        ),
        lanes=rows,
        ask_ids=range(first_id, first_id + query.rows),
        episodes=[0] * query.rows,
        lane_generations=(),
        context=query.context if reads.context else NO_TENSORS,
        history=query.history if reads.history else NO_TENSORS,
        sim_state=query.sim_state if reads.sim_state else None,
        prefix=query.prefix if reads.prefix else (),
        expected_delay_steps=query.expected_delay_steps if reads.prefix else (),
        runway_steps=query.runway_steps if reads.prefix else (),
        obs_time_ns=(),
        value_at_stake_usd=(),
    )
    return pb.GuideRequest(task=task, ask=codec.query_to_proto(sent))


def guided_of(reply: pb.GuideResponse, rows: int, actions: int | None) -> Guided:
    """The reply as a result, ``invalid`` where it breaks the contract. ``actions``: how many, if known."""
    outcome = _OUTCOMES.get(reply.outcome, AttemptOutcome.INVALID)
    usage = _usage(reply)
    if not outcome.usable:
        return Guided(outcome, usage=usage)
    confidence = list(reply.confidence)
    try:
        guidance = codec.guidance_from_proto(reply.guidance, rows)
        tube = codec.valid_while_from_proto(reply.valid_while) if reply.HasField("valid_while") else None
    except codec.ContractError:
        return Guided(AttemptOutcome.INVALID, usage=usage)
    sure = len(confidence) in (0, rows) and all(0 <= value <= 1 for value in confidence)
    if not sure or not _fits(guidance, actions):
        return Guided(AttemptOutcome.INVALID, usage=usage)
    return Guided(outcome, guidance, confidence, usage, valid_while=tube)


def _usage(reply: pb.GuideResponse) -> Usage | None:
    if not reply.HasField("usage"):
        return None
    used = reply.usage
    return Usage(
        used.input_tokens, used.output_tokens, used.price_usd if used.HasField("price_usd") else None
    )


def _fits(guidance: Guidance, actions: int | None) -> bool:
    """Whether actions are of the task's kind and size; ``actions`` None: it is not known."""
    if isinstance(guidance, ActionAdvice):
        if guidance.discrete:
            return actions is None and guidance.actions.ndim == 1
        return guidance.actions.ndim == 2 and actions in (None, guidance.actions.shape[1])
    return not isinstance(guidance, Chunk) or actions in (None, guidance.actions.shape[2])


def check_description(told: ProviderInfo, task: str, folder: TaskFolder, layout_id: str) -> None:
    """Raises :class:`SetupError` for a source that does not fit the task or needs what is not served."""
    for key, fault in _faults(told, folder, layout_id):
        raise SetupError(key, f"the source does not fit task {task!r}: {fault}")


def _faults(told: ProviderInfo, folder: TaskFolder, layout_id: str) -> list[tuple[str, str]]:
    shapes = {spec.name: spec.shape for spec in folder.observations}
    names = told.action_names or (told.action.names if isinstance(told.action, BoxAction) else ())
    action_shape = told.action.shape if isinstance(told.action, BoxAction) else folder.action.shape
    of_actions = told.guidance_kinds & {GuidanceKind.ACTION, GuidanceKind.CHUNK}
    checks: Mapping[tuple[str, str], bool] = {
        ("guidance_kinds", "it declares none"): not told.guidance_kinds,
        ("state_scope", "sources that remember are not served"): told.state_scope is not StateScope.NONE,
        ("tasks", "it serves other tasks only"): bool(told.tasks) and folder.task not in told.tasks,
        ("layout_id", f"it is {told.layout_id!r}, not {layout_id!r}"): bool(layout_id)
        and told.layout_id != layout_id,
        ("period_us", f"{told.period_us}, but the task has {folder.period_us}"): told.period_us
        not in (0, folder.period_us),
        ("observations", "names or shapes differ"): any(
            shapes.get(spec.name) != spec.shape for spec in told.observations
        ),
        ("action", f"shape {list(action_shape)}, but the task has {list(folder.action.shape)}"): bool(
            of_actions
        )
        and math.prod(action_shape) != math.prod(folder.action.shape),
        ("action_names", "other names, or another order"): bool(names and folder.action.names)
        and names != folder.action.names,
    }
    return [fault for fault, present in checks.items() if present]
