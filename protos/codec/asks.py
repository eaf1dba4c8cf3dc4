"""Query and lease rows <-> messages. Optional columns are empty or have one entry a row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from protos.codec.errors import ContractError, to_enum
from protos.codec.tensors import decode_tensor, decode_tensors, encode_tensor, encode_tensors, require_finite
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import (
    NO_GOAL,
    NO_TENSORS,
    AskMode,
    AskOptions,
    Goal,
    GuidanceKind,
    LeaseRows,
    Prefix,
    PrefixKind,
    Priority,
    Query,
    SimState,
    Tensors,
)

DEFAULT_OPTIONS = AskOptions()
MAX_GOAL_TEXT = 4096
MAX_DECODED_OPTIONS = 1024
_decoded_options: dict[bytes, AskOptions] = {}
MAX_ENCODED_OPTIONS = 64
_encoded_options: dict[int, tuple[AskOptions, bytes]] = {}


def options_to_proto(options: AskOptions) -> pb.AskOptions:
    message = pb.AskOptions(
        provider_id=options.provider_id,
        kinds=[cast("pb.GuidanceKind", int(kind)) for kind in sorted(options.kinds)],
        mode=cast("pb.AskMode", int(options.mode)),
        first_answer_by_ms=options.first_answer_by_ms,
        final_by_ms=options.final_by_ms,
        max_price_usd=options.max_price_usd,
        accept_predicted=options.accept_predicted,
        hold_steps=options.hold_steps,
        max_age_steps=options.max_age_steps,
        priority=cast("pb.Priority", int(options.priority)),
    )
    if options.goal is not NO_GOAL:
        message.goal.goal_id = options.goal.goal_id
        message.goal.text = options.goal.text
        encode_tensors(options.goal.tensors, message.goal.tensors, "options.goal.tensors")
    return message


def encoded_options(options: AskOptions) -> bytes:
    """Serialised. A loop asks with the same few objects again and again, so they are remembered by identity,
    which keeping the object itself makes sure of.
    """
    if options.goal is not NO_GOAL:  # a goal's tensors may be written over between two asks
        return options_to_proto(options).SerializeToString()
    known = _encoded_options.get(id(options))
    if known is None:
        if len(_encoded_options) >= MAX_ENCODED_OPTIONS:
            _encoded_options.clear()
        known = _encoded_options[id(options)] = options, options_to_proto(options).SerializeToString()
    return known[1]


def options_from_proto(message: pb.AskOptions) -> AskOptions:
    """Options repeat from ask to ask, so what was decoded once is remembered by its bytes."""
    if message.HasField("goal"):
        return _decode_options(message)
    key = message.SerializeToString()
    options = _decoded_options.get(key)
    if options is None:
        options = _decode_options(message)
        if len(_decoded_options) >= MAX_DECODED_OPTIONS:
            _decoded_options.clear()
        _decoded_options[key] = options
    return options


def _decode_options(message: pb.AskOptions) -> AskOptions:
    price = message.max_price_usd if message.HasField("max_price_usd") else None
    if price is not None and not (math.isfinite(price) and price >= 0):
        raise ContractError("options.max_price_usd", "must be a finite number of USD, 0 or more")
    kinds = frozenset(to_enum(GuidanceKind, kind, "options.kinds") for kind in message.kinds)
    return AskOptions(
        provider_id=message.provider_id,
        kinds=kinds,
        mode=to_enum(AskMode, message.mode, "options.mode", AskMode.NORMAL),
        first_answer_by_ms=_clock(message, "first_answer_by_ms"),
        final_by_ms=_clock(message, "final_by_ms"),
        max_price_usd=price,
        accept_predicted=message.accept_predicted,
        hold_steps=message.hold_steps,
        max_age_steps=message.max_age_steps,
        goal=_goal_from_proto(message.goal) if message.HasField("goal") else NO_GOAL,
        priority=to_enum(Priority, message.priority, "options.priority", Priority.NORMAL),
    )


def _clock(message: pb.AskOptions, name: str) -> int | None:
    if not message.HasField(cast("Any", name)):
        return None
    value = int(getattr(message, name))
    if value == 0:
        raise ContractError(f"options.{name}", "0 ms leaves no time; leave it out for the default")
    return value


def _goal_from_proto(message: pb.Goal) -> Goal:
    if len(message.text) > MAX_GOAL_TEXT:
        raise ContractError("options.goal.text", f"is longer than {MAX_GOAL_TEXT} characters")
    return Goal(message.goal_id, message.text, decode_tensors(message.tensors, None, "options.goal.tensors"))


def query_to_proto(query: Query) -> pb.AskBatch:
    message = pb.AskBatch()
    write_query(query, message)
    return message


def write_query(query: Query, message: pb.AskBatch) -> None:
    """Into an empty message, which may be a part of another one already: that saves a copy."""
    message.options.MergeFromString(encoded_options(query.options))
    message.lane.extend(query.lanes)
    message.ask_id.extend(query.ask_ids)
    message.episode.extend(query.episodes)
    message.step.extend(query.steps)
    message.lane_generation.extend(query.lane_generations)
    message.runway_steps.extend(query.runway_steps)
    message.obs_time_ns.extend(query.obs_time_ns)
    encode_tensors(query.observations, message.observations, "observations")
    if query.context:
        encode_tensors(query.context, message.context, "context")
    if query.history:
        encode_tensors(query.history, message.history, "history")
    if query.prefix or query.expected_delay_steps or query.value_at_stake_usd:
        message.prefix.extend([_prefix_to_proto(prefix) for prefix in query.prefix])
        message.expected_delay_steps.extend(query.expected_delay_steps)
        message.value_at_stake_usd.extend(query.value_at_stake_usd)
    if query.sim_state is not None:
        message.sim_state.state.CopyFrom(encode_tensor(query.sim_state.state, "sim_state.state"))
        message.sim_state.spec = query.sim_state.spec
        message.sim_state.model_id = query.sim_state.model_id


def query_from_proto(message: pb.AskBatch, max_rows: int) -> Query:
    """Raises :class:`ContractError` for column lengths, non-finite numbers, unknown enums, too many rows."""
    rows = len(message.ask_id)
    if rows == 0:
        raise ContractError("ask_id", "an ask needs at least one row", "MISSING_FIELD")
    if rows > max_rows:
        raise ContractError("ask_id", f"{rows} rows; at most {max_rows} a message", "TOO_MANY_ROWS")
    observations = decode_tensors(message.observations, rows, "observations")
    if not observations:
        raise ContractError("observations", "an ask needs at least one tensor", "MISSING_FIELD")
    return Query(
        options=options_from_proto(message.options) if message.HasField("options") else DEFAULT_OPTIONS,
        lanes=_required(message.lane, rows, "lane"),
        ask_ids=list(message.ask_id),
        episodes=_required(message.episode, rows, "episode"),
        steps=_required(message.step, rows, "step"),
        observations=observations,
        lane_generations=_optional(message.lane_generation, rows, "lane_generation"),
        context=_tensors(message.context, rows, "context"),
        history=_tensors(message.history, rows, "history"),
        sim_state=_sim_state_from_proto(message.sim_state, rows) if message.HasField("sim_state") else None,
        prefix=_prefixes(message.prefix, rows),
        expected_delay_steps=_optional(message.expected_delay_steps, rows, "expected_delay_steps"),
        runway_steps=_optional(message.runway_steps, rows, "runway_steps"),
        obs_time_ns=_optional(message.obs_time_ns, rows, "obs_time_ns"),
        value_at_stake_usd=_stakes(message.value_at_stake_usd, rows),
    )


def lease_rows_to_proto(rows: LeaseRows) -> pb.LeaseRows:
    message = pb.LeaseRows(
        lane=rows.lanes, ask_id=rows.ask_ids, step=rows.steps, obs_time_ns=rows.obs_time_ns
    )
    encode_tensors(rows.observations, message.observations, "lease_rows.observations")
    return message


def lease_rows_from_proto(message: pb.LeaseRows, max_rows: int) -> LeaseRows:
    rows = len(message.ask_id)
    if rows == 0:
        raise ContractError("lease_rows.ask_id", "at least one row", "MISSING_FIELD")
    if rows > max_rows:
        raise ContractError("lease_rows.ask_id", f"{rows} rows; at most {max_rows}", "TOO_MANY_ROWS")
    return LeaseRows(
        lanes=_required(message.lane, rows, "lease_rows.lane"),
        ask_ids=list(message.ask_id),
        steps=_required(message.step, rows, "lease_rows.step"),
        observations=decode_tensors(message.observations, rows, "lease_rows.observations"),
        obs_time_ns=_optional(message.obs_time_ns, rows, "lease_rows.obs_time_ns"),
    )


def _required(column: Sequence[int], rows: int, field: str) -> list[int]:
    if len(column) != rows:
        raise ContractError(field, f"{len(column)} entries for {rows} rows", "INVALID_COLUMN")
    return list(column)


def _optional(column: Sequence[int], rows: int, field: str) -> Sequence[int]:
    return _required(column, rows, field) if column else ()


def _stakes(column: Sequence[float], rows: int) -> Sequence[float]:
    if not column:
        return ()
    if len(column) != rows:
        raise ContractError("value_at_stake_usd", f"{len(column)} entries for {rows} rows", "INVALID_COLUMN")
    require_finite(np.asarray(column), "value_at_stake_usd")
    return list(column)


def _tensors(messages: Mapping[str, pb.Tensor], rows: int, field: str) -> Tensors:
    return decode_tensors(messages, rows, field) if messages else NO_TENSORS


def _sim_state_from_proto(message: pb.SimState, rows: int) -> SimState:
    state = decode_tensor(message.state, "sim_state.state")
    if state.ndim != 2 or state.shape[0] != rows or state.dtype != np.float64:
        raise ContractError("sim_state.state", f"should be float64 of shape [{rows}, S]", "INVALID_TENSOR")
    require_finite(state, "sim_state.state")
    return SimState(state, message.spec, message.model_id)


def _prefix_to_proto(prefix: Prefix) -> pb.Prefix:
    return pb.Prefix(
        actions=encode_tensor(prefix.actions, "prefix.actions"),
        first_step=prefix.first_step,
        committed=prefix.committed,
        kind=cast("pb.Prefix.Kind", int(prefix.kind)),
    )


def _prefixes(messages: Sequence[pb.Prefix], rows: int) -> Sequence[Prefix]:
    if not messages:
        return ()
    if len(messages) != rows:
        raise ContractError("prefix", f"{len(messages)} entries for {rows} rows", "INVALID_COLUMN")
    return [_prefix_from_proto(message, f"prefix[{row}]") for row, message in enumerate(messages)]


def _prefix_from_proto(message: pb.Prefix, field: str) -> Prefix:
    actions = decode_tensor(message.actions, f"{field}.actions")
    if actions.ndim != 2:
        raise ContractError(f"{field}.actions", "should have shape [D, A]", "INVALID_TENSOR")
    require_finite(actions, f"{field}.actions")
    if message.committed > actions.shape[0]:
        raise ContractError(f"{field}.committed", f"{message.committed} of {actions.shape[0]} rows")
    kind = to_enum(PrefixKind, message.kind, f"{field}.kind", PrefixKind.EXECUTING)
    return Prefix(actions, message.first_step, message.committed, kind)
