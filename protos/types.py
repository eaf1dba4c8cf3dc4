"""The one vocabulary of all packages: what the wire means, in plain frozen values.

Everything is a batch of B rows, because rows that travel together are handled together. Enum numbers are the
wire's own, so no table stands between the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from types import MappingProxyType
from typing import TypeVar

import numpy as np

T = TypeVar("T")

Tensors = Mapping[str, np.ndarray]
"""Named tensors, each ``[B, ...]`` and raw: as the environment gave them, never normalised."""

NO_TENSORS: Tensors = MappingProxyType({})


def _no_tensors() -> Tensors:
    """The default of dataclass fields: before Python 3.12 a mapping proxy itself may not be one."""
    return NO_TENSORS


PROTOCOL_VERSION = 1


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


class AskMode(IntEnum):
    NORMAL = 1
    PREDICT_ONLY = 2
    CACHE_ONLY = 3


class Priority(IntEnum):
    BATCH = 1
    NORMAL = 2
    URGENT = 3
    SAFETY = 4


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


class AskOutcome(IntEnum):
    """How one ask ended for its caller. Counted exactly once an ask."""

    ANSWERED = 1
    PREDICTED = 2
    CACHED = 3
    DEGRADED = 4
    NONE = 5
    OVER_BUDGET = 6
    SHED = 7
    UNAVAILABLE = 8
    DEADLINE = 9
    CANCELLED = 10
    CALLER_FAULT = 11
    INTERNAL = 12


class ProviderKind(IntEnum):
    RULES = 1
    POLICY = 2
    PLANNER = 3
    DEMONSTRATIONS = 4
    LLM = 5
    REMOTE = 6
    HUMAN = 7
    SIMULATED = 8


class ProviderState(IntEnum):
    READY = 1
    LOADING = 2
    WARMING = 3
    DRAINING = 4
    OPEN = 5
    COOLING = 6
    REMOVED = 7


class StateScope(IntEnum):
    """How long a source remembers. Anything but NONE is never cached, coalesced or hedged."""

    NONE = 1
    EPISODE = 2
    SESSION = 3


class MergeRule(IntEnum):
    REPLACE_TAIL = 1
    FINISH_FIRST = 2
    CROSSFADE = 3
    WEIGHTED = 4


class LaneEventKind(IntEnum):
    ACTIVE = 1
    PAUSED = 2
    FAULT = 3
    TAKEOVER = 4
    GOAL_CHANGED = 5


class DropReason(IntEnum):
    NONE = 0
    LATE = 1
    LATE_PREFIX = 2
    STALE_GENERATION = 3
    SUPERSEDED = 4
    DECLINED = 5
    CONSTRAINED = 6


class PrefixKind(IntEnum):
    EXECUTING = 1
    OWN_POLICY_GUESS = 2


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


# ---------------------------------------------------------------- schemas


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One named tensor of a row; ``shape`` leaves the batch dimension out."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    unit: str = ""
    max_shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BoxAction:
    shape: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DiscreteAction:
    n: int
    start: int = 0


ActionSpec = BoxAction | DiscreteAction


# ---------------------------------------------------------------- asks


@dataclass(frozen=True, slots=True)
class Goal:
    """``text`` is data from the agent, never an instruction."""

    goal_id: str = ""
    text: str = ""
    tensors: Tensors = field(default_factory=_no_tensors)


NO_GOAL = Goal()


@dataclass(frozen=True, slots=True)
class AskOptions:
    """What all rows of a query share. Clocks are ``None`` where the caller left them to the broker."""

    provider_id: str = ""
    kinds: frozenset[GuidanceKind] = frozenset()
    mode: AskMode = AskMode.NORMAL
    first_answer_by_ms: int | None = None
    final_by_ms: int | None = None
    max_price_usd: float | None = None
    accept_predicted: bool = False
    hold_steps: int = 0
    max_age_steps: int = 0
    goal: Goal = NO_GOAL
    priority: Priority = Priority.NORMAL


@dataclass(frozen=True, slots=True)
class SimState:
    """``state`` is ``[B, S]`` float64 under the simulator's own signature ``spec``."""

    state: np.ndarray
    spec: int
    model_id: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """``actions`` is ``[D, A]``: what the lane executes from ``first_step`` until the answer lands."""

    actions: np.ndarray
    first_step: int
    committed: int
    kind: PrefixKind


@dataclass(frozen=True, slots=True)
class Query:
    """B rows that ask the same kind of thing. Optional columns are empty or have B entries."""

    options: AskOptions
    lanes: Sequence[int]
    ask_ids: Sequence[int]
    episodes: Sequence[int]
    steps: Sequence[int]
    observations: Tensors
    lane_generations: Sequence[int] = ()
    context: Tensors = field(default_factory=_no_tensors)
    history: Tensors = field(default_factory=_no_tensors)
    sim_state: SimState | None = None
    prefix: Sequence[Prefix] = ()
    expected_delay_steps: Sequence[int] = ()
    runway_steps: Sequence[int] = ()
    obs_time_ns: Sequence[int] = ()
    value_at_stake_usd: Sequence[float] = ()

    @property
    def rows(self) -> int:
        return len(self.ask_ids)

    def take(self, rows: Sequence[int]) -> Query:
        """The query of some of its rows, in the given order."""
        if len(rows) == self.rows and all(i == r for i, r in enumerate(rows)):
            return self
        index = np.asarray(rows, dtype=np.intp)
        sim = self.sim_state
        return replace(
            self,
            lanes=_pick(self.lanes, rows),
            ask_ids=_pick(self.ask_ids, rows),
            episodes=_pick(self.episodes, rows),
            steps=_pick(self.steps, rows),
            lane_generations=_pick(self.lane_generations, rows),
            observations=_pick_rows(self.observations, index),
            context=_pick_rows(self.context, index),
            history=_pick_rows(self.history, index),
            sim_state=None if sim is None else replace(sim, state=sim.state[index]),
            prefix=_pick(self.prefix, rows),
            expected_delay_steps=_pick(self.expected_delay_steps, rows),
            runway_steps=_pick(self.runway_steps, rows),
            obs_time_ns=_pick(self.obs_time_ns, rows),
            value_at_stake_usd=_pick(self.value_at_stake_usd, rows),
        )


def _pick(column: Sequence[T], rows: Sequence[int]) -> Sequence[T]:
    return [column[i] for i in rows] if column else column


def _pick_rows(tensors: Tensors, index: np.ndarray) -> Tensors:
    return {name: value[index] for name, value in tensors.items()}


@dataclass(frozen=True, slots=True)
class LeaseRows:
    """Steps of open leases: ``observations`` are ``[B, ...]``, one row an executed step."""

    lanes: Sequence[int]
    ask_ids: Sequence[int]
    steps: Sequence[int]
    observations: Tensors
    obs_time_ns: Sequence[int] = ()


# ---------------------------------------------------------------- guidance


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


# ---------------------------------------------------------------- answers


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


# ---------------------------------------------------------------- session


@dataclass(frozen=True, slots=True)
class LaneSpec:
    lane: int
    period_us: int
    action_names: tuple[str, ...] = ()
    merge: Merge = Merge()
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
class Outcome:
    """What became of one ask: what routing, fusion and the meta-policy learn from."""

    lane: int
    ask_id: int
    used: bool
    weight: float = 1.0
    steps_held: int = 0
    reward_sum: float = 0.0
    discounted_reward_sum: float = 0.0
    value_before: float = 0.0
    value_after: float = 0.0
    episode_ended: bool = False
    delay_steps: int = 0
    rows_received: int = 0
    rows_used: int = 0
    rows_late: int = 0
    rows_merged: int = 0
    rows_clipped: int = 0
    starved_steps: int = 0
    drop_reason: DropReason = DropReason.NONE


@dataclass(frozen=True, slots=True)
class Limits:
    max_rows: int
    max_message_bytes: int
    max_hold_steps: int
    keepalive_ms: int


@dataclass(frozen=True, slots=True)
class Price:
    """What a source charges. A lease of H steps is listed at ``usd_per_ask + H * usd_per_leased_step``."""

    usd_per_ask: float = 0.0
    usd_per_leased_step: float = 0.0
    usd_per_input_token: float = 0.0
    usd_per_output_token: float = 0.0
    billed_when_cancelled: bool = False

    @property
    def free(self) -> bool:
        per_token = self.usd_per_input_token or self.usd_per_output_token
        return not (self.usd_per_ask or self.usd_per_leased_step or per_token)

    def estimate(self, hold_steps: int) -> float:
        """USD that one row may cost before tokens are known; ``hold_steps`` 0 is a single answer."""
        return self.usd_per_ask + hold_steps * self.usd_per_leased_step


@dataclass(frozen=True, slots=True)
class Reads:
    prefix: bool = False
    sim_state: bool = False
    context: bool = False
    history: bool = False


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    provider_id: str
    kind: ProviderKind
    guidance_kinds: frozenset[GuidanceKind]
    price: Price = Price()
    tasks: tuple[str, ...] = ()
    observations: tuple[TensorSpec, ...] = ()
    action: ActionSpec | None = None
    timeout_ms: int = 0
    max_concurrency: int = 0
    state_scope: StateScope = StateScope.NONE
    chunk_len: int = 0
    period_us: int = 0
    layout_id: str = ""
    action_names: tuple[str, ...] = ()
    max_delay_steps: int = 0
    reads: Reads = Reads()
    key_fields: tuple[str, ...] = ()
    leasable: bool = False


@dataclass(frozen=True, slots=True)
class LatencyQuantiles:
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    p99_ms: float = 0.0
    samples: int = 0


@dataclass(frozen=True, slots=True)
class PredictionQuality:
    agreement: float = 0.0
    error_p90: float = 0.0
    served_share: float = 0.0


@dataclass(frozen=True, slots=True)
class ProviderUpdate:
    """The live state of one provider, as a meta-policy sees it without a call."""

    provider_id: str
    state: ProviderState
    progress: float = 0.0
    latency: LatencyQuantiles = LatencyQuantiles()
    price: Price = Price()
    in_flight: int = 0
    queued: int = 0
    prediction: PredictionQuality | None = None
    config_generation: int = 0
    info: ProviderInfo | None = None


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
