"""What is said to a remote source, and whether what it says can be believed. Pure."""

from __future__ import annotations

from dataclasses import replace

from broker.outcomes import AttemptOutcome
from broker.providers.interface import Guided, Usage
from broker.providers.making import SetupError
from broker.setup.task_folder import TaskFolder
from protos import codec
from protos.guidance.v1 import provider_pb2 as pb
from protos.types import (
    NO_TENSORS,
    ActionAdvice,
    BoxAction,
    Chunk,
    Guidance,
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
    box = told.action if isinstance(told.action, BoxAction) else None
    names = told.action_names or (box.names if box else ())
    shapes = {spec.name: spec.shape for spec in folder.observations}
    faults = {
        "guidance_kinds": "" if told.guidance_kinds else "it gives none",
        "state_scope": "" if told.state_scope is StateScope.NONE else "sources that remember are not served",
        "tasks": "" if folder.task in (told.tasks or (folder.task,)) else "it serves others only",
        "layout_id": _differs(told.layout_id, layout_id) if layout_id else "",
        "period_us": _differs(told.period_us, folder.period_us) if told.period_us else "",
        "observations": next(
            (spec.name for spec in told.observations if shapes.get(spec.name) != spec.shape), ""
        ),
        "action": _differs(box and box.shape, folder.action.shape) if told.action else "",
        "action_names": _differs(names, folder.action.names) if names and folder.action.names else "",
    }
    for key, fault in faults.items():
        if fault:
            raise SetupError(key, f"the source does not fit task {task!r}: {fault}")


def _differs(theirs: object, ours: object) -> str:
    return "" if theirs == ours else f"{theirs}, and not {ours}"
