"""Hello, welcome and what else frames a session <-> messages."""

from __future__ import annotations

from typing import cast

from protos.codec.errors import ContractError, to_enum
from protos.codec.guidance import guidance_from_proto, guidance_to_proto, merge_from_proto, merge_to_proto
from protos.codec.providers import provider_info_from_proto, provider_info_to_proto
from protos.codec.tensors import (
    action_spec_from_proto,
    action_spec_to_proto,
    tensor_spec_from_proto,
    tensor_spec_to_proto,
)
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import (
    Hello,
    LaneEvent,
    LaneEventKind,
    LaneSpec,
    Limits,
    Merge,
    OperatorPush,
    Welcome,
)


def hello_to_proto(hello: Hello) -> pb.Hello:
    return pb.Hello(
        protocol_version=hello.protocol_version,
        agent=hello.agent,
        client_version=hello.client_version,
        task=hello.task,
        observations=[tensor_spec_to_proto(spec) for spec in hello.observations],
        context=[tensor_spec_to_proto(spec) for spec in hello.context],
        action=action_spec_to_proto(hello.action),
        lanes=[_lane_to_proto(lane) for lane in hello.lanes],
    )


def hello_from_proto(message: pb.Hello) -> Hello:
    """Raises :class:`ContractError` for a missing agent or task, no lanes, or a lane declared twice."""
    for name in ("agent", "task"):
        if not getattr(message, name).strip():
            raise ContractError(f"hello.{name}", "must not be empty", "MISSING_FIELD")
    if not message.observations:
        raise ContractError("hello.observations", "declare at least one tensor", "MISSING_FIELD")
    if not message.lanes:
        raise ContractError("hello.lanes", "declare at least one lane", "MISSING_FIELD")
    numbers = [lane.lane for lane in message.lanes]
    if len(set(numbers)) != len(numbers):
        raise ContractError("hello.lanes", "a lane is declared twice")
    return Hello(
        agent=message.agent,
        task=message.task,
        observations=tuple(tensor_spec_from_proto(s, "hello.observations") for s in message.observations),
        action=action_spec_from_proto(message.action, "hello.action"),
        lanes=tuple(_lane_from_proto(lane) for lane in message.lanes),
        context=tuple(tensor_spec_from_proto(spec, "hello.context") for spec in message.context),
        client_version=message.client_version,
        protocol_version=message.protocol_version,
    )


def _lane_to_proto(lane: LaneSpec) -> pb.LaneSpec:
    return pb.LaneSpec(
        lane=lane.lane,
        period_us=lane.period_us,
        action_names=lane.action_names,
        merge=merge_to_proto(lane.merge),
        blend_mask=lane.blend_mask,
    )


def _lane_from_proto(message: pb.LaneSpec) -> LaneSpec:
    if message.period_us == 0:
        raise ContractError("hello.lanes.period_us", "give the control period in microseconds")
    return LaneSpec(
        lane=message.lane,
        period_us=message.period_us,
        action_names=tuple(message.action_names),
        merge=merge_from_proto(message.merge, "hello.lanes.merge") if message.HasField("merge") else Merge(),
        blend_mask=tuple(message.blend_mask),
    )


def welcome_to_proto(welcome: Welcome) -> pb.Welcome:
    limits = welcome.limits
    return pb.Welcome(
        session_generation=welcome.session_generation,
        broker_id=welcome.broker_id,
        config_generation=welcome.config_generation,
        providers=[provider_info_to_proto(info) for info in welcome.providers],
        credits=welcome.credits,
        limits=pb.Limits(
            max_rows=limits.max_rows,
            max_message_bytes=limits.max_message_bytes,
            max_hold_steps=limits.max_hold_steps,
            keepalive_ms=limits.keepalive_ms,
        ),
    )


def welcome_from_proto(message: pb.Welcome) -> Welcome:
    limits = message.limits
    return Welcome(
        session_generation=message.session_generation,
        broker_id=message.broker_id,
        config_generation=message.config_generation,
        providers=tuple(provider_info_from_proto(info) for info in message.providers),
        credits=message.credits,
        limits=Limits(limits.max_rows, limits.max_message_bytes, limits.max_hold_steps, limits.keepalive_ms),
    )


def lane_event_to_proto(event: LaneEvent) -> pb.LaneEvent:
    return pb.LaneEvent(
        lane=event.lane,
        kind=cast("pb.LaneEvent.Kind", int(event.kind)),
        lane_generation=event.lane_generation,
        goal_id=event.goal_id,
    )


def lane_event_from_proto(message: pb.LaneEvent) -> LaneEvent:
    kind = to_enum(LaneEventKind, message.kind, "lane_event.kind")
    return LaneEvent(message.lane, kind, message.lane_generation, message.goal_id)


def operator_push_to_proto(push: OperatorPush) -> pb.OperatorPush:
    message = pb.OperatorPush(lane=push.lanes, reason=push.reason)
    if push.guidance is not None:
        message.guidance.CopyFrom(guidance_to_proto(push.guidance))
    elif push.stop is not None:
        message.stop = push.stop
    return message


def operator_push_from_proto(message: pb.OperatorPush) -> OperatorPush:
    what = message.WhichOneof("push")
    if what is None:
        raise ContractError("push", "give a stop or guidance", "MISSING_FIELD")
    lanes = tuple(message.lane)
    if what == "stop":
        return OperatorPush(stop=message.stop, lanes=lanes, reason=message.reason)
    guidance = guidance_from_proto(message.guidance, 1)
    return OperatorPush(guidance=guidance, lanes=lanes, reason=message.reason)
