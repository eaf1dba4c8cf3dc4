"""A session and its lanes: the greeting, what happens to a lane, what an operator may say."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from protos.types.guidance import Guidance, Merge
from protos.types.providers import ProviderInfo
from protos.types.schemas import ActionSpec, TensorSpec

PROTOCOL_VERSION = 1
REPLACE_TAIL = Merge()


class LaneEventKind(IntEnum):
    ACTIVE = 1
    PAUSED = 2
    FAULT = 3
    TAKEOVER = 4
    GOAL_CHANGED = 5


@dataclass(frozen=True, slots=True)
class LaneSpec:
    lane: int
    period_us: int
    action_names: tuple[str, ...] = ()
    merge: Merge = REPLACE_TAIL
    blend_mask: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class Hello:
    agent: str
    task: str
    observations: tuple[TensorSpec, ...]
    action: ActionSpec
    lanes: tuple[LaneSpec, ...]
    context: tuple[TensorSpec, ...] = ()
    client_version: str = ""
    protocol_version: int = PROTOCOL_VERSION


@dataclass(frozen=True, slots=True)
class LaneEvent:
    lane: int
    kind: LaneEventKind
    lane_generation: int
    goal_id: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    max_rows: int
    max_message_bytes: int
    max_hold_steps: int
    keepalive_ms: int


@dataclass(frozen=True, slots=True)
class Welcome:
    session_generation: int
    broker_id: str
    config_generation: int
    providers: tuple[ProviderInfo, ...]
    credits: int
    limits: Limits


@dataclass(frozen=True, slots=True)
class OperatorPush:
    """An operator's word: a stop (True), its release (False), or guidance. ``lanes`` empty: all."""

    stop: bool | None = None
    guidance: Guidance | None = None
    lanes: tuple[int, ...] = ()
    reason: str = ""
