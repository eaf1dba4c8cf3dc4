"""Guidance <-> message. What a source says is held to the same rules as what an agent asks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import cast

import numpy as np

from protos.codec.errors import ContractError, to_enum
from protos.codec.tensors import decode_tensor, encode_tensor, require_finite
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import (
    ActionAdvice,
    Chunk,
    ChunkAnchor,
    Constraints,
    Guidance,
    HalfSpace,
    Merge,
    MergeRule,
    Plan,
    Residual,
    ShapingForm,
    ShapingTerm,
    ShapingTerms,
    Skill,
    Subgoal,
    Subgoals,
    ValidWhile,
)


def guidance_to_proto(guidance: Guidance) -> pb.Guidance:
    match guidance:
        case ActionAdvice(actions, discrete):
            tensor = encode_tensor(actions, "action")
            advice = pb.ActionAdvice(discrete=tensor) if discrete else pb.ActionAdvice(continuous=tensor)
            return pb.Guidance(action=advice)
        case Chunk():
            return pb.Guidance(chunk=_chunk_to_proto(guidance))
        case Subgoals(subgoals):
            return pb.Guidance(subgoals=pb.Subgoals(subgoals=[_subgoal_to_proto(s) for s in subgoals]))
        case Skill(name, parameters):
            return pb.Guidance(skill=pb.Skill(name=name, parameters=parameters))
        case ShapingTerms(terms):
            return pb.Guidance(shaping=pb.ShapingTerms(terms=[_term_to_proto(t) for t in terms]))
        case Constraints():
            return pb.Guidance(constraints=constraints_to_proto(guidance))
        case Plan(steps):
            return pb.Guidance(plan=pb.Plan(steps=steps))
        case Residual(base_ask_id, row, delta):
            residual = pb.Residual(base_ask_id=base_ask_id, row=row, delta=encode_tensor(delta, "delta"))
            return pb.Guidance(residual=residual)


def guidance_from_proto(message: pb.Guidance, rows: int) -> Guidance:
    """Raises :class:`ContractError` for a wrong batch size, an unknown kind or a non-finite number."""
    kind = message.WhichOneof("kind")
    if kind == "action":
        return _action_from_proto(message.action, rows)
    if kind == "chunk":
        return _chunk_from_proto(message.chunk, rows)
    if kind is None:
        raise ContractError("guidance", "no kind is given", "MISSING_FIELD")
    if rows != 1:
        raise ContractError(f"guidance.{kind}", f"stands in batches of one row, not {rows}")
    match kind:
        case "subgoals":
            return Subgoals(tuple(_subgoal_from_proto(s, i) for i, s in enumerate(message.subgoals.subgoals)))
        case "skill":
            parameters = dict(message.skill.parameters)
            _finite(parameters.values(), "guidance.skill.parameters")
            return Skill(message.skill.name, parameters)
        case "shaping":
            return ShapingTerms(tuple(_term_from_proto(t, i) for i, t in enumerate(message.shaping.terms)))
        case "constraints":
            return constraints_from_proto(message.constraints)
        case "plan":
            return Plan(tuple(message.plan.steps))
        case _:
            delta = decode_tensor(message.residual.delta, "guidance.residual.delta")
            require_finite(delta, "guidance.residual.delta")
            return Residual(message.residual.base_ask_id, message.residual.row, delta)


def _action_from_proto(message: pb.ActionAdvice, rows: int) -> ActionAdvice:
    field = message.WhichOneof("value")
    if field is None:
        raise ContractError("guidance.action", "no value is given", "MISSING_FIELD")
    discrete = field == "discrete"
    place = f"guidance.action.{field}"
    actions = decode_tensor(message.discrete if discrete else message.continuous, place)
    if actions.ndim == 0 or actions.shape[0] != rows:
        raise ContractError(place, f"shape {list(actions.shape)} should begin with {rows}", "INVALID_TENSOR")
    if discrete and actions.dtype.kind not in "iu":
        raise ContractError(place, f"dtype {actions.dtype.name} should be an integer", "INVALID_TENSOR")
    require_finite(actions, place)
    return ActionAdvice(actions, discrete)


def _chunk_to_proto(chunk: Chunk) -> pb.Chunk:
    message = pb.Chunk(
        actions=encode_tensor(chunk.actions, "chunk.actions"),
        first_step=chunk.first_steps,
        period_us=chunk.period_us,
        anchor=cast("pb.Chunk.Anchor", int(chunk.anchor)),
        conditioned_prefix=chunk.conditioned_prefix,
        valid_dims=chunk.valid_dims,
    )
    if chunk.merge_hint is not None:
        message.merge_hint.CopyFrom(merge_to_proto(chunk.merge_hint))
    return message


def _chunk_from_proto(message: pb.Chunk, rows: int) -> Chunk:
    actions = decode_tensor(message.actions, "guidance.chunk.actions")
    if actions.ndim != 3 or actions.shape[0] != rows:
        shape = list(actions.shape)
        raise ContractError("guidance.chunk.actions", f"{shape} should be [{rows}, H, A]", "INVALID_TENSOR")
    require_finite(actions, "guidance.chunk.actions")
    if len(message.first_step) != rows:
        raise ContractError("guidance.chunk.first_step", f"needs {rows} entries", "INVALID_COLUMN")
    return Chunk(
        actions=actions,
        first_steps=list(message.first_step),
        period_us=message.period_us,
        anchor=to_enum(ChunkAnchor, message.anchor, "guidance.chunk.anchor", ChunkAnchor.STEP),
        conditioned_prefix=message.conditioned_prefix,
        valid_dims=tuple(message.valid_dims),
        merge_hint=merge_from_proto(message.merge_hint) if message.HasField("merge_hint") else None,
    )


def merge_to_proto(merge: Merge) -> pb.Merge:
    rule = cast("pb.Merge.Rule", int(merge.rule))
    return pb.Merge(rule=rule, crossfade_steps=merge.crossfade_steps, weight=merge.weight)


def merge_from_proto(message: pb.Merge, field: str = "merge") -> Merge:
    if not 0.0 <= message.weight <= 1.0:
        raise ContractError(f"{field}.weight", "must lie in 0..1")
    rule = to_enum(MergeRule, message.rule, f"{field}.rule", MergeRule.REPLACE_TAIL)
    return Merge(rule, message.crossfade_steps, message.weight)


def _subgoal_to_proto(subgoal: Subgoal) -> pb.Subgoal:
    return pb.Subgoal(
        vector=subgoal.vector,
        tolerance=subgoal.tolerance,
        weight=subgoal.weight,
        frame=subgoal.frame,
        within_steps=subgoal.within_steps,
    )


def _subgoal_from_proto(message: pb.Subgoal, index: int) -> Subgoal:
    _finite([*message.vector, message.tolerance, message.weight], f"guidance.subgoals[{index}]")
    if message.tolerance < 0:
        raise ContractError(f"guidance.subgoals[{index}].tolerance", "must not be negative")
    vector = tuple(message.vector)
    return Subgoal(vector, message.tolerance, message.weight, message.frame, message.within_steps)


def _term_to_proto(term: ShapingTerm) -> pb.ShapingTerm:
    return pb.ShapingTerm(
        form=cast("pb.ShapingTerm.Form", int(term.form)),
        tensor=term.tensor,
        index=term.index,
        coefficient=term.coefficient,
        target=term.target,
        scale=term.scale,
        threshold=term.threshold,
        weight=term.weight,
    )


def _term_from_proto(message: pb.ShapingTerm, index: int) -> ShapingTerm:
    field = f"guidance.shaping[{index}]"
    numbers = [*message.coefficient, *message.target, message.scale, message.threshold, message.weight]
    _finite(numbers, field)
    return ShapingTerm(
        form=to_enum(ShapingForm, message.form, f"{field}.form"),
        tensor=message.tensor,
        index=tuple(message.index),
        coefficient=tuple(message.coefficient),
        target=tuple(message.target),
        scale=message.scale,
        threshold=message.threshold,
        weight=message.weight,
    )


def constraints_to_proto(constraints: Constraints) -> pb.Constraints:
    return pb.Constraints(
        lane=constraints.lanes,
        low=constraints.low,
        high=constraints.high,
        allowed=constraints.allowed,
        half_spaces=[pb.HalfSpace(normal=h.normal, offset=h.offset) for h in constraints.half_spaces],
        hard=constraints.hard,
        penalty_weight=constraints.penalty_weight,
        safe_action=constraints.safe_action,
        ttl_ms=constraints.ttl_ms,
        version=constraints.version,
        source=constraints.source,
    )


def constraints_from_proto(message: pb.Constraints) -> Constraints:
    """Bounds may be infinite, nothing may be NaN; low and high have equal lengths and do not cross."""
    low, high = tuple(message.low), tuple(message.high)
    if len(low) != len(high):
        raise ContractError("constraints.high", f"{len(high)} values beside {len(low)} of low")
    if not all(lo <= hi for lo, hi in zip(low, high, strict=True)):
        raise ContractError("constraints.low", "is above high, or not a number")
    _finite([*message.safe_action, message.penalty_weight], "constraints.safe_action")
    for half_space in message.half_spaces:
        _finite([*half_space.normal, half_space.offset], "constraints.half_spaces")
    return Constraints(
        lanes=tuple(message.lane),
        low=low,
        high=high,
        allowed=tuple(message.allowed),
        half_spaces=tuple(HalfSpace(tuple(h.normal), h.offset) for h in message.half_spaces),
        hard=message.hard,
        penalty_weight=message.penalty_weight,
        safe_action=tuple(message.safe_action),
        ttl_ms=message.ttl_ms,
        version=message.version,
        source=message.source,
    )


def valid_while_to_proto(tube: ValidWhile) -> pb.ValidWhile:
    expected = encode_tensor(tube.expected, "valid_while.expected")
    return pb.ValidWhile(tensor=tube.tensor, expected=expected, tolerance=tube.tolerance)


def valid_while_from_proto(message: pb.ValidWhile) -> ValidWhile:
    expected = decode_tensor(message.expected, "valid_while.expected")
    require_finite(expected, "valid_while.expected")
    require_finite(np.asarray(message.tolerance), "valid_while.tolerance")
    return ValidWhile(message.tensor, expected, tuple(message.tolerance))


def _finite(values: Iterable[float], field: str) -> None:
    if not all(math.isfinite(value) for value in values):
        raise ContractError(field, "holds a number that is not finite", "NON_FINITE")
