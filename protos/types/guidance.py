"""What a source can say: actions, subgoals, skills, shaping terms, constraints, plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np


class GuidanceKind(IntEnum):
    """What a source can say."""

    ACTION = 1
    CHUNK = 2
    SUBGOALS = 3
    SKILL = 4
    SHAPING = 5
    CONSTRAINTS = 6
    PLAN = 7
    RESIDUAL = 8


class MergeRule(IntEnum):
    REPLACE_TAIL = 1
    FINISH_FIRST = 2
    CROSSFADE = 3
    WEIGHTED = 4


class ShapingForm(IntEnum):
    LINEAR = 1
    SATURATED = 2
    TARGET = 3
    SPARSE = 4
    POTENTIAL = 5
    PENALTY = 6
    KEY_STATE = 7


class ChunkAnchor(IntEnum):
    STEP = 1
    ARRIVAL = 2


@dataclass(frozen=True, slots=True, eq=False)
class ActionAdvice:
    """``actions``: ``[B, A]`` floats, or ``[B]`` int64 where ``discrete``."""

    actions: np.ndarray
    discrete: bool = False


@dataclass(frozen=True, slots=True)
class Merge:
    rule: MergeRule = MergeRule.REPLACE_TAIL
    crossfade_steps: int = 0
    weight: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """``actions`` is ``[B, H, A]``; row i of batch entry b is for control step ``first_steps[b] + i``."""

    actions: np.ndarray
    first_steps: Sequence[int]
    period_us: int
    anchor: ChunkAnchor = ChunkAnchor.STEP
    conditioned_prefix: int = 0
    valid_dims: Sequence[bool] = ()
    merge_hint: Merge | None = None


@dataclass(frozen=True, slots=True)
class Subgoal:
    vector: tuple[float, ...]
    tolerance: float
    weight: float = 1.0
    frame: str = ""
    within_steps: int = 0


@dataclass(frozen=True, slots=True)
class Subgoals:
    """An empty tuple is a valid "no plan"."""

    subgoals: tuple[Subgoal, ...]


@dataclass(frozen=True, slots=True)
class Skill:
    name: str
    parameters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShapingTerm:
    form: ShapingForm
    tensor: str
    index: tuple[int, ...]
    coefficient: tuple[float, ...] = ()
    target: tuple[float, ...] = ()
    scale: float = 1.0
    threshold: float = 0.0
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class ShapingTerms:
    terms: tuple[ShapingTerm, ...]


@dataclass(frozen=True, slots=True)
class HalfSpace:
    """The actions with ``normal . action <= offset``."""

    normal: tuple[float, ...]
    offset: float


@dataclass(frozen=True, slots=True)
class Constraints:
    """Enforced by the client on every executed action. ``lanes`` empty: all lanes of the session."""

    lanes: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    allowed: tuple[bool, ...] = ()
    half_spaces: tuple[HalfSpace, ...] = ()
    hard: bool = True
    penalty_weight: float = 0.0
    safe_action: tuple[float, ...] = ()
    ttl_ms: int = 60_000
    version: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Residual:
    base_ask_id: int
    row: int
    delta: np.ndarray


Guidance = ActionAdvice | Chunk | Subgoals | Skill | ShapingTerms | Constraints | Plan | Residual


@dataclass(frozen=True, slots=True, eq=False)
class ValidWhile:
    """Good while ``|observation[tensor] - expected[h]| <= tolerance``; ``expected`` is ``[H, k]``."""

    tensor: str
    expected: np.ndarray
    tolerance: tuple[float, ...]
