from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DataType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DATA_TYPE_UNSPECIFIED: _ClassVar[DataType]
    DATA_TYPE_BOOL: _ClassVar[DataType]
    DATA_TYPE_UINT8: _ClassVar[DataType]
    DATA_TYPE_UINT16: _ClassVar[DataType]
    DATA_TYPE_UINT32: _ClassVar[DataType]
    DATA_TYPE_UINT64: _ClassVar[DataType]
    DATA_TYPE_INT8: _ClassVar[DataType]
    DATA_TYPE_INT16: _ClassVar[DataType]
    DATA_TYPE_INT32: _ClassVar[DataType]
    DATA_TYPE_INT64: _ClassVar[DataType]
    DATA_TYPE_FLOAT16: _ClassVar[DataType]
    DATA_TYPE_FLOAT32: _ClassVar[DataType]
    DATA_TYPE_FLOAT64: _ClassVar[DataType]

class Encoding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENCODING_UNSPECIFIED: _ClassVar[Encoding]
    ENCODING_RAW: _ClassVar[Encoding]
    ENCODING_JPEG: _ClassVar[Encoding]
    ENCODING_PNG: _ClassVar[Encoding]

class GuidanceKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GUIDANCE_KIND_UNSPECIFIED: _ClassVar[GuidanceKind]
    GUIDANCE_KIND_ACTION: _ClassVar[GuidanceKind]
    GUIDANCE_KIND_CHUNK: _ClassVar[GuidanceKind]
    GUIDANCE_KIND_SUBGOALS: _ClassVar[GuidanceKind]
    GUIDANCE_KIND_SKILL: _ClassVar[GuidanceKind]
    GUIDANCE_KIND_SHAPING: _ClassVar[GuidanceKind]
    GUIDANCE_KIND_CONSTRAINTS: _ClassVar[GuidanceKind]
    GUIDANCE_KIND_PLAN: _ClassVar[GuidanceKind]
    GUIDANCE_KIND_RESIDUAL: _ClassVar[GuidanceKind]

class AskMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ASK_MODE_UNSPECIFIED: _ClassVar[AskMode]
    ASK_MODE_NORMAL: _ClassVar[AskMode]
    ASK_MODE_PREDICT_ONLY: _ClassVar[AskMode]
    ASK_MODE_CACHE_ONLY: _ClassVar[AskMode]

class Priority(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRIORITY_UNSPECIFIED: _ClassVar[Priority]
    PRIORITY_BATCH: _ClassVar[Priority]
    PRIORITY_NORMAL: _ClassVar[Priority]
    PRIORITY_URGENT: _ClassVar[Priority]
    PRIORITY_SAFETY: _ClassVar[Priority]

class AnswerKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANSWER_KIND_UNSPECIFIED: _ClassVar[AnswerKind]
    ANSWER_KIND_PREDICTED: _ClassVar[AnswerKind]
    ANSWER_KIND_FINAL: _ClassVar[AnswerKind]
    ANSWER_KIND_CORRECTION: _ClassVar[AnswerKind]
    ANSWER_KIND_NONE: _ClassVar[AnswerKind]

class NoneReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NONE_REASON_UNSPECIFIED: _ClassVar[NoneReason]
    NONE_REASON_SIMILAR: _ClassVar[NoneReason]
    NONE_REASON_REFUSED: _ClassVar[NoneReason]
    NONE_REASON_NO_GUIDANCE: _ClassVar[NoneReason]
    NONE_REASON_LATE: _ClassVar[NoneReason]
    NONE_REASON_STALE_GENERATION: _ClassVar[NoneReason]
    NONE_REASON_SHED: _ClassVar[NoneReason]
    NONE_REASON_TIMEOUT: _ClassVar[NoneReason]

class CacheStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CACHE_STATUS_UNSPECIFIED: _ClassVar[CacheStatus]
    CACHE_STATUS_MISS: _ClassVar[CacheStatus]
    CACHE_STATUS_HIT: _ClassVar[CacheStatus]
    CACHE_STATUS_STALE: _ClassVar[CacheStatus]
    CACHE_STATUS_COALESCED: _ClassVar[CacheStatus]

class AskOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ASK_OUTCOME_UNSPECIFIED: _ClassVar[AskOutcome]
    ASK_OUTCOME_ANSWERED: _ClassVar[AskOutcome]
    ASK_OUTCOME_PREDICTED: _ClassVar[AskOutcome]
    ASK_OUTCOME_CACHED: _ClassVar[AskOutcome]
    ASK_OUTCOME_DEGRADED: _ClassVar[AskOutcome]
    ASK_OUTCOME_NONE: _ClassVar[AskOutcome]
    ASK_OUTCOME_OVER_BUDGET: _ClassVar[AskOutcome]
    ASK_OUTCOME_SHED: _ClassVar[AskOutcome]
    ASK_OUTCOME_UNAVAILABLE: _ClassVar[AskOutcome]
    ASK_OUTCOME_DEADLINE: _ClassVar[AskOutcome]
    ASK_OUTCOME_CANCELLED: _ClassVar[AskOutcome]
    ASK_OUTCOME_CALLER_FAULT: _ClassVar[AskOutcome]
    ASK_OUTCOME_INTERNAL: _ClassVar[AskOutcome]

class ProviderKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROVIDER_KIND_UNSPECIFIED: _ClassVar[ProviderKind]
    PROVIDER_KIND_RULES: _ClassVar[ProviderKind]
    PROVIDER_KIND_POLICY: _ClassVar[ProviderKind]
    PROVIDER_KIND_PLANNER: _ClassVar[ProviderKind]
    PROVIDER_KIND_DEMONSTRATIONS: _ClassVar[ProviderKind]
    PROVIDER_KIND_LLM: _ClassVar[ProviderKind]
    PROVIDER_KIND_REMOTE: _ClassVar[ProviderKind]
    PROVIDER_KIND_HUMAN: _ClassVar[ProviderKind]
    PROVIDER_KIND_SIMULATED: _ClassVar[ProviderKind]

class StateScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATE_SCOPE_UNSPECIFIED: _ClassVar[StateScope]
    STATE_SCOPE_NONE: _ClassVar[StateScope]
    STATE_SCOPE_EPISODE: _ClassVar[StateScope]
    STATE_SCOPE_SESSION: _ClassVar[StateScope]
DATA_TYPE_UNSPECIFIED: DataType
DATA_TYPE_BOOL: DataType
DATA_TYPE_UINT8: DataType
DATA_TYPE_UINT16: DataType
DATA_TYPE_UINT32: DataType
DATA_TYPE_UINT64: DataType
DATA_TYPE_INT8: DataType
DATA_TYPE_INT16: DataType
DATA_TYPE_INT32: DataType
DATA_TYPE_INT64: DataType
DATA_TYPE_FLOAT16: DataType
DATA_TYPE_FLOAT32: DataType
DATA_TYPE_FLOAT64: DataType
ENCODING_UNSPECIFIED: Encoding
ENCODING_RAW: Encoding
ENCODING_JPEG: Encoding
ENCODING_PNG: Encoding
GUIDANCE_KIND_UNSPECIFIED: GuidanceKind
GUIDANCE_KIND_ACTION: GuidanceKind
GUIDANCE_KIND_CHUNK: GuidanceKind
GUIDANCE_KIND_SUBGOALS: GuidanceKind
GUIDANCE_KIND_SKILL: GuidanceKind
GUIDANCE_KIND_SHAPING: GuidanceKind
GUIDANCE_KIND_CONSTRAINTS: GuidanceKind
GUIDANCE_KIND_PLAN: GuidanceKind
GUIDANCE_KIND_RESIDUAL: GuidanceKind
ASK_MODE_UNSPECIFIED: AskMode
ASK_MODE_NORMAL: AskMode
ASK_MODE_PREDICT_ONLY: AskMode
ASK_MODE_CACHE_ONLY: AskMode
PRIORITY_UNSPECIFIED: Priority
PRIORITY_BATCH: Priority
PRIORITY_NORMAL: Priority
PRIORITY_URGENT: Priority
PRIORITY_SAFETY: Priority
ANSWER_KIND_UNSPECIFIED: AnswerKind
ANSWER_KIND_PREDICTED: AnswerKind
ANSWER_KIND_FINAL: AnswerKind
ANSWER_KIND_CORRECTION: AnswerKind
ANSWER_KIND_NONE: AnswerKind
NONE_REASON_UNSPECIFIED: NoneReason
NONE_REASON_SIMILAR: NoneReason
NONE_REASON_REFUSED: NoneReason
NONE_REASON_NO_GUIDANCE: NoneReason
NONE_REASON_LATE: NoneReason
NONE_REASON_STALE_GENERATION: NoneReason
NONE_REASON_SHED: NoneReason
NONE_REASON_TIMEOUT: NoneReason
CACHE_STATUS_UNSPECIFIED: CacheStatus
CACHE_STATUS_MISS: CacheStatus
CACHE_STATUS_HIT: CacheStatus
CACHE_STATUS_STALE: CacheStatus
CACHE_STATUS_COALESCED: CacheStatus
ASK_OUTCOME_UNSPECIFIED: AskOutcome
ASK_OUTCOME_ANSWERED: AskOutcome
ASK_OUTCOME_PREDICTED: AskOutcome
ASK_OUTCOME_CACHED: AskOutcome
ASK_OUTCOME_DEGRADED: AskOutcome
ASK_OUTCOME_NONE: AskOutcome
ASK_OUTCOME_OVER_BUDGET: AskOutcome
ASK_OUTCOME_SHED: AskOutcome
ASK_OUTCOME_UNAVAILABLE: AskOutcome
ASK_OUTCOME_DEADLINE: AskOutcome
ASK_OUTCOME_CANCELLED: AskOutcome
ASK_OUTCOME_CALLER_FAULT: AskOutcome
ASK_OUTCOME_INTERNAL: AskOutcome
PROVIDER_KIND_UNSPECIFIED: ProviderKind
PROVIDER_KIND_RULES: ProviderKind
PROVIDER_KIND_POLICY: ProviderKind
PROVIDER_KIND_PLANNER: ProviderKind
PROVIDER_KIND_DEMONSTRATIONS: ProviderKind
PROVIDER_KIND_LLM: ProviderKind
PROVIDER_KIND_REMOTE: ProviderKind
PROVIDER_KIND_HUMAN: ProviderKind
PROVIDER_KIND_SIMULATED: ProviderKind
STATE_SCOPE_UNSPECIFIED: StateScope
STATE_SCOPE_NONE: StateScope
STATE_SCOPE_EPISODE: StateScope
STATE_SCOPE_SESSION: StateScope

class Tensor(_message.Message):
    __slots__ = ("dtype", "shape", "data", "encoding")
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    dtype: DataType
    shape: _containers.RepeatedScalarFieldContainer[int]
    data: bytes
    encoding: Encoding
    def __init__(self, dtype: _Optional[_Union[DataType, str]] = ..., shape: _Optional[_Iterable[int]] = ..., data: _Optional[bytes] = ..., encoding: _Optional[_Union[Encoding, str]] = ...) -> None: ...

class TensorSpec(_message.Message):
    __slots__ = ("name", "dtype", "shape", "max_shape", "low", "high", "unit", "encodings")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    MAX_SHAPE_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    ENCODINGS_FIELD_NUMBER: _ClassVar[int]
    name: str
    dtype: DataType
    shape: _containers.RepeatedScalarFieldContainer[int]
    max_shape: _containers.RepeatedScalarFieldContainer[int]
    low: _containers.RepeatedScalarFieldContainer[float]
    high: _containers.RepeatedScalarFieldContainer[float]
    unit: str
    encodings: _containers.RepeatedScalarFieldContainer[Encoding]
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[_Union[DataType, str]] = ..., shape: _Optional[_Iterable[int]] = ..., max_shape: _Optional[_Iterable[int]] = ..., low: _Optional[_Iterable[float]] = ..., high: _Optional[_Iterable[float]] = ..., unit: _Optional[str] = ..., encodings: _Optional[_Iterable[_Union[Encoding, str]]] = ...) -> None: ...

class ActionSpec(_message.Message):
    __slots__ = ("box", "discrete")
    BOX_FIELD_NUMBER: _ClassVar[int]
    DISCRETE_FIELD_NUMBER: _ClassVar[int]
    box: BoxSpace
    discrete: DiscreteSpace
    def __init__(self, box: _Optional[_Union[BoxSpace, _Mapping]] = ..., discrete: _Optional[_Union[DiscreteSpace, _Mapping]] = ...) -> None: ...

class BoxSpace(_message.Message):
    __slots__ = ("shape", "low", "high", "names")
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    low: _containers.RepeatedScalarFieldContainer[float]
    high: _containers.RepeatedScalarFieldContainer[float]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, shape: _Optional[_Iterable[int]] = ..., low: _Optional[_Iterable[float]] = ..., high: _Optional[_Iterable[float]] = ..., names: _Optional[_Iterable[str]] = ...) -> None: ...

class DiscreteSpace(_message.Message):
    __slots__ = ("n", "start")
    N_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    n: int
    start: int
    def __init__(self, n: _Optional[int] = ..., start: _Optional[int] = ...) -> None: ...

class SimState(_message.Message):
    __slots__ = ("state", "spec", "model_id")
    STATE_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    state: Tensor
    spec: int
    model_id: str
    def __init__(self, state: _Optional[_Union[Tensor, _Mapping]] = ..., spec: _Optional[int] = ..., model_id: _Optional[str] = ...) -> None: ...

class Goal(_message.Message):
    __slots__ = ("goal_id", "text", "tensors")
    class TensorsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Tensor
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Tensor, _Mapping]] = ...) -> None: ...
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TENSORS_FIELD_NUMBER: _ClassVar[int]
    goal_id: str
    text: str
    tensors: _containers.MessageMap[str, Tensor]
    def __init__(self, goal_id: _Optional[str] = ..., text: _Optional[str] = ..., tensors: _Optional[_Mapping[str, Tensor]] = ...) -> None: ...

class AskOptions(_message.Message):
    __slots__ = ("provider_id", "kinds", "mode", "first_answer_by_ms", "final_by_ms", "max_price_usd", "accept_predicted", "hold_steps", "max_age_steps", "goal", "priority")
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    FIRST_ANSWER_BY_MS_FIELD_NUMBER: _ClassVar[int]
    FINAL_BY_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_PRICE_USD_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_PREDICTED_FIELD_NUMBER: _ClassVar[int]
    HOLD_STEPS_FIELD_NUMBER: _ClassVar[int]
    MAX_AGE_STEPS_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    kinds: _containers.RepeatedScalarFieldContainer[GuidanceKind]
    mode: AskMode
    first_answer_by_ms: int
    final_by_ms: int
    max_price_usd: float
    accept_predicted: bool
    hold_steps: int
    max_age_steps: int
    goal: Goal
    priority: Priority
    def __init__(self, provider_id: _Optional[str] = ..., kinds: _Optional[_Iterable[_Union[GuidanceKind, str]]] = ..., mode: _Optional[_Union[AskMode, str]] = ..., first_answer_by_ms: _Optional[int] = ..., final_by_ms: _Optional[int] = ..., max_price_usd: _Optional[float] = ..., accept_predicted: _Optional[bool] = ..., hold_steps: _Optional[int] = ..., max_age_steps: _Optional[int] = ..., goal: _Optional[_Union[Goal, _Mapping]] = ..., priority: _Optional[_Union[Priority, str]] = ...) -> None: ...

class Prefix(_message.Message):
    __slots__ = ("actions", "first_step", "committed", "kind")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[Prefix.Kind]
        KIND_EXECUTING: _ClassVar[Prefix.Kind]
        KIND_OWN_POLICY_GUESS: _ClassVar[Prefix.Kind]
    KIND_UNSPECIFIED: Prefix.Kind
    KIND_EXECUTING: Prefix.Kind
    KIND_OWN_POLICY_GUESS: Prefix.Kind
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    actions: Tensor
    first_step: int
    committed: int
    kind: Prefix.Kind
    def __init__(self, actions: _Optional[_Union[Tensor, _Mapping]] = ..., first_step: _Optional[int] = ..., committed: _Optional[int] = ..., kind: _Optional[_Union[Prefix.Kind, str]] = ...) -> None: ...

class AskBatch(_message.Message):
    __slots__ = ("options", "lane", "ask_id", "episode", "step", "lane_generation", "observations", "context", "history", "sim_state", "prefix", "expected_delay_steps", "runway_steps", "obs_time_ns", "value_at_stake_usd")
    class ObservationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Tensor
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Tensor, _Mapping]] = ...) -> None: ...
    class ContextEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Tensor
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Tensor, _Mapping]] = ...) -> None: ...
    class HistoryEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Tensor
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Tensor, _Mapping]] = ...) -> None: ...
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    LANE_FIELD_NUMBER: _ClassVar[int]
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    LANE_GENERATION_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    SIM_STATE_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_DELAY_STEPS_FIELD_NUMBER: _ClassVar[int]
    RUNWAY_STEPS_FIELD_NUMBER: _ClassVar[int]
    OBS_TIME_NS_FIELD_NUMBER: _ClassVar[int]
    VALUE_AT_STAKE_USD_FIELD_NUMBER: _ClassVar[int]
    options: AskOptions
    lane: _containers.RepeatedScalarFieldContainer[int]
    ask_id: _containers.RepeatedScalarFieldContainer[int]
    episode: _containers.RepeatedScalarFieldContainer[int]
    step: _containers.RepeatedScalarFieldContainer[int]
    lane_generation: _containers.RepeatedScalarFieldContainer[int]
    observations: _containers.MessageMap[str, Tensor]
    context: _containers.MessageMap[str, Tensor]
    history: _containers.MessageMap[str, Tensor]
    sim_state: SimState
    prefix: _containers.RepeatedCompositeFieldContainer[Prefix]
    expected_delay_steps: _containers.RepeatedScalarFieldContainer[int]
    runway_steps: _containers.RepeatedScalarFieldContainer[int]
    obs_time_ns: _containers.RepeatedScalarFieldContainer[int]
    value_at_stake_usd: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, options: _Optional[_Union[AskOptions, _Mapping]] = ..., lane: _Optional[_Iterable[int]] = ..., ask_id: _Optional[_Iterable[int]] = ..., episode: _Optional[_Iterable[int]] = ..., step: _Optional[_Iterable[int]] = ..., lane_generation: _Optional[_Iterable[int]] = ..., observations: _Optional[_Mapping[str, Tensor]] = ..., context: _Optional[_Mapping[str, Tensor]] = ..., history: _Optional[_Mapping[str, Tensor]] = ..., sim_state: _Optional[_Union[SimState, _Mapping]] = ..., prefix: _Optional[_Iterable[_Union[Prefix, _Mapping]]] = ..., expected_delay_steps: _Optional[_Iterable[int]] = ..., runway_steps: _Optional[_Iterable[int]] = ..., obs_time_ns: _Optional[_Iterable[int]] = ..., value_at_stake_usd: _Optional[_Iterable[float]] = ...) -> None: ...

class LeaseRows(_message.Message):
    __slots__ = ("lane", "ask_id", "step", "observations", "obs_time_ns")
    class ObservationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Tensor
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Tensor, _Mapping]] = ...) -> None: ...
    LANE_FIELD_NUMBER: _ClassVar[int]
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    OBS_TIME_NS_FIELD_NUMBER: _ClassVar[int]
    lane: _containers.RepeatedScalarFieldContainer[int]
    ask_id: _containers.RepeatedScalarFieldContainer[int]
    step: _containers.RepeatedScalarFieldContainer[int]
    observations: _containers.MessageMap[str, Tensor]
    obs_time_ns: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, lane: _Optional[_Iterable[int]] = ..., ask_id: _Optional[_Iterable[int]] = ..., step: _Optional[_Iterable[int]] = ..., observations: _Optional[_Mapping[str, Tensor]] = ..., obs_time_ns: _Optional[_Iterable[int]] = ...) -> None: ...

class Cancel(_message.Message):
    __slots__ = ("lane", "ask_id")
    LANE_FIELD_NUMBER: _ClassVar[int]
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    lane: int
    ask_id: int
    def __init__(self, lane: _Optional[int] = ..., ask_id: _Optional[int] = ...) -> None: ...

class ActionAdvice(_message.Message):
    __slots__ = ("continuous", "discrete")
    CONTINUOUS_FIELD_NUMBER: _ClassVar[int]
    DISCRETE_FIELD_NUMBER: _ClassVar[int]
    continuous: Tensor
    discrete: Tensor
    def __init__(self, continuous: _Optional[_Union[Tensor, _Mapping]] = ..., discrete: _Optional[_Union[Tensor, _Mapping]] = ...) -> None: ...

class Chunk(_message.Message):
    __slots__ = ("actions", "first_step", "period_us", "anchor", "conditioned_prefix", "valid_dims", "merge_hint")
    class Anchor(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ANCHOR_UNSPECIFIED: _ClassVar[Chunk.Anchor]
        ANCHOR_STEP: _ClassVar[Chunk.Anchor]
        ANCHOR_ARRIVAL: _ClassVar[Chunk.Anchor]
    ANCHOR_UNSPECIFIED: Chunk.Anchor
    ANCHOR_STEP: Chunk.Anchor
    ANCHOR_ARRIVAL: Chunk.Anchor
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    PERIOD_US_FIELD_NUMBER: _ClassVar[int]
    ANCHOR_FIELD_NUMBER: _ClassVar[int]
    CONDITIONED_PREFIX_FIELD_NUMBER: _ClassVar[int]
    VALID_DIMS_FIELD_NUMBER: _ClassVar[int]
    MERGE_HINT_FIELD_NUMBER: _ClassVar[int]
    actions: Tensor
    first_step: _containers.RepeatedScalarFieldContainer[int]
    period_us: int
    anchor: Chunk.Anchor
    conditioned_prefix: int
    valid_dims: _containers.RepeatedScalarFieldContainer[bool]
    merge_hint: Merge
    def __init__(self, actions: _Optional[_Union[Tensor, _Mapping]] = ..., first_step: _Optional[_Iterable[int]] = ..., period_us: _Optional[int] = ..., anchor: _Optional[_Union[Chunk.Anchor, str]] = ..., conditioned_prefix: _Optional[int] = ..., valid_dims: _Optional[_Iterable[bool]] = ..., merge_hint: _Optional[_Union[Merge, _Mapping]] = ...) -> None: ...

class Merge(_message.Message):
    __slots__ = ("rule", "crossfade_steps", "weight")
    class Rule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        RULE_UNSPECIFIED: _ClassVar[Merge.Rule]
        RULE_REPLACE_TAIL: _ClassVar[Merge.Rule]
        RULE_FINISH_FIRST: _ClassVar[Merge.Rule]
        RULE_CROSSFADE: _ClassVar[Merge.Rule]
        RULE_WEIGHTED: _ClassVar[Merge.Rule]
    RULE_UNSPECIFIED: Merge.Rule
    RULE_REPLACE_TAIL: Merge.Rule
    RULE_FINISH_FIRST: Merge.Rule
    RULE_CROSSFADE: Merge.Rule
    RULE_WEIGHTED: Merge.Rule
    RULE_FIELD_NUMBER: _ClassVar[int]
    CROSSFADE_STEPS_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    rule: Merge.Rule
    crossfade_steps: int
    weight: float
    def __init__(self, rule: _Optional[_Union[Merge.Rule, str]] = ..., crossfade_steps: _Optional[int] = ..., weight: _Optional[float] = ...) -> None: ...

class Subgoal(_message.Message):
    __slots__ = ("vector", "tolerance", "weight", "frame", "within_steps")
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    FRAME_FIELD_NUMBER: _ClassVar[int]
    WITHIN_STEPS_FIELD_NUMBER: _ClassVar[int]
    vector: _containers.RepeatedScalarFieldContainer[float]
    tolerance: float
    weight: float
    frame: str
    within_steps: int
    def __init__(self, vector: _Optional[_Iterable[float]] = ..., tolerance: _Optional[float] = ..., weight: _Optional[float] = ..., frame: _Optional[str] = ..., within_steps: _Optional[int] = ...) -> None: ...

class Subgoals(_message.Message):
    __slots__ = ("subgoals",)
    SUBGOALS_FIELD_NUMBER: _ClassVar[int]
    subgoals: _containers.RepeatedCompositeFieldContainer[Subgoal]
    def __init__(self, subgoals: _Optional[_Iterable[_Union[Subgoal, _Mapping]]] = ...) -> None: ...

class Skill(_message.Message):
    __slots__ = ("name", "parameters")
    class ParametersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    parameters: _containers.ScalarMap[str, float]
    def __init__(self, name: _Optional[str] = ..., parameters: _Optional[_Mapping[str, float]] = ...) -> None: ...

class ShapingTerm(_message.Message):
    __slots__ = ("form", "tensor", "index", "coefficient", "target", "scale", "threshold", "weight")
    class Form(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        FORM_UNSPECIFIED: _ClassVar[ShapingTerm.Form]
        FORM_LINEAR: _ClassVar[ShapingTerm.Form]
        FORM_SATURATED: _ClassVar[ShapingTerm.Form]
        FORM_TARGET: _ClassVar[ShapingTerm.Form]
        FORM_SPARSE: _ClassVar[ShapingTerm.Form]
        FORM_POTENTIAL: _ClassVar[ShapingTerm.Form]
        FORM_PENALTY: _ClassVar[ShapingTerm.Form]
        FORM_KEY_STATE: _ClassVar[ShapingTerm.Form]
    FORM_UNSPECIFIED: ShapingTerm.Form
    FORM_LINEAR: ShapingTerm.Form
    FORM_SATURATED: ShapingTerm.Form
    FORM_TARGET: ShapingTerm.Form
    FORM_SPARSE: ShapingTerm.Form
    FORM_POTENTIAL: ShapingTerm.Form
    FORM_PENALTY: ShapingTerm.Form
    FORM_KEY_STATE: ShapingTerm.Form
    FORM_FIELD_NUMBER: _ClassVar[int]
    TENSOR_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    COEFFICIENT_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    form: ShapingTerm.Form
    tensor: str
    index: _containers.RepeatedScalarFieldContainer[int]
    coefficient: _containers.RepeatedScalarFieldContainer[float]
    target: _containers.RepeatedScalarFieldContainer[float]
    scale: float
    threshold: float
    weight: float
    def __init__(self, form: _Optional[_Union[ShapingTerm.Form, str]] = ..., tensor: _Optional[str] = ..., index: _Optional[_Iterable[int]] = ..., coefficient: _Optional[_Iterable[float]] = ..., target: _Optional[_Iterable[float]] = ..., scale: _Optional[float] = ..., threshold: _Optional[float] = ..., weight: _Optional[float] = ...) -> None: ...

class ShapingTerms(_message.Message):
    __slots__ = ("terms",)
    TERMS_FIELD_NUMBER: _ClassVar[int]
    terms: _containers.RepeatedCompositeFieldContainer[ShapingTerm]
    def __init__(self, terms: _Optional[_Iterable[_Union[ShapingTerm, _Mapping]]] = ...) -> None: ...

class HalfSpace(_message.Message):
    __slots__ = ("normal", "offset")
    NORMAL_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    normal: _containers.RepeatedScalarFieldContainer[float]
    offset: float
    def __init__(self, normal: _Optional[_Iterable[float]] = ..., offset: _Optional[float] = ...) -> None: ...

class Constraints(_message.Message):
    __slots__ = ("lane", "low", "high", "allowed", "half_spaces", "hard", "penalty_weight", "safe_action", "ttl_ms", "version", "source")
    LANE_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    HALF_SPACES_FIELD_NUMBER: _ClassVar[int]
    HARD_FIELD_NUMBER: _ClassVar[int]
    PENALTY_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    SAFE_ACTION_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    lane: _containers.RepeatedScalarFieldContainer[int]
    low: _containers.RepeatedScalarFieldContainer[float]
    high: _containers.RepeatedScalarFieldContainer[float]
    allowed: _containers.RepeatedScalarFieldContainer[bool]
    half_spaces: _containers.RepeatedCompositeFieldContainer[HalfSpace]
    hard: bool
    penalty_weight: float
    safe_action: _containers.RepeatedScalarFieldContainer[float]
    ttl_ms: int
    version: int
    source: str
    def __init__(self, lane: _Optional[_Iterable[int]] = ..., low: _Optional[_Iterable[float]] = ..., high: _Optional[_Iterable[float]] = ..., allowed: _Optional[_Iterable[bool]] = ..., half_spaces: _Optional[_Iterable[_Union[HalfSpace, _Mapping]]] = ..., hard: _Optional[bool] = ..., penalty_weight: _Optional[float] = ..., safe_action: _Optional[_Iterable[float]] = ..., ttl_ms: _Optional[int] = ..., version: _Optional[int] = ..., source: _Optional[str] = ...) -> None: ...

class Plan(_message.Message):
    __slots__ = ("steps",)
    STEPS_FIELD_NUMBER: _ClassVar[int]
    steps: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, steps: _Optional[_Iterable[str]] = ...) -> None: ...

class Residual(_message.Message):
    __slots__ = ("base_ask_id", "row", "delta")
    BASE_ASK_ID_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    base_ask_id: int
    row: int
    delta: Tensor
    def __init__(self, base_ask_id: _Optional[int] = ..., row: _Optional[int] = ..., delta: _Optional[_Union[Tensor, _Mapping]] = ...) -> None: ...

class Guidance(_message.Message):
    __slots__ = ("action", "chunk", "subgoals", "skill", "shaping", "constraints", "plan", "residual")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    SUBGOALS_FIELD_NUMBER: _ClassVar[int]
    SKILL_FIELD_NUMBER: _ClassVar[int]
    SHAPING_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    RESIDUAL_FIELD_NUMBER: _ClassVar[int]
    action: ActionAdvice
    chunk: Chunk
    subgoals: Subgoals
    skill: Skill
    shaping: ShapingTerms
    constraints: Constraints
    plan: Plan
    residual: Residual
    def __init__(self, action: _Optional[_Union[ActionAdvice, _Mapping]] = ..., chunk: _Optional[_Union[Chunk, _Mapping]] = ..., subgoals: _Optional[_Union[Subgoals, _Mapping]] = ..., skill: _Optional[_Union[Skill, _Mapping]] = ..., shaping: _Optional[_Union[ShapingTerms, _Mapping]] = ..., constraints: _Optional[_Union[Constraints, _Mapping]] = ..., plan: _Optional[_Union[Plan, _Mapping]] = ..., residual: _Optional[_Union[Residual, _Mapping]] = ...) -> None: ...

class ValidWhile(_message.Message):
    __slots__ = ("tensor", "expected", "tolerance")
    TENSOR_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    tensor: str
    expected: Tensor
    tolerance: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, tensor: _Optional[str] = ..., expected: _Optional[_Union[Tensor, _Mapping]] = ..., tolerance: _Optional[_Iterable[float]] = ...) -> None: ...

class Timing(_message.Message):
    __slots__ = ("queue_us", "provider_us", "broker_us")
    QUEUE_US_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_US_FIELD_NUMBER: _ClassVar[int]
    BROKER_US_FIELD_NUMBER: _ClassVar[int]
    queue_us: int
    provider_us: int
    broker_us: int
    def __init__(self, queue_us: _Optional[int] = ..., provider_us: _Optional[int] = ..., broker_us: _Optional[int] = ...) -> None: ...

class AnswerBatch(_message.Message):
    __slots__ = ("kind", "provider_ids", "session_generation", "lane", "ask_id", "episode", "step", "lane_generation", "seq", "supersedes", "obs_time_ns", "price_usd", "confidence", "guidance", "none_reason", "pending", "ended", "cache_status", "age_ms", "attempts", "hedged", "degraded", "leased", "overhead_us", "timing", "goal_id", "valid_while")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_IDS_FIELD_NUMBER: _ClassVar[int]
    SESSION_GENERATION_FIELD_NUMBER: _ClassVar[int]
    LANE_FIELD_NUMBER: _ClassVar[int]
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    LANE_GENERATION_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDES_FIELD_NUMBER: _ClassVar[int]
    OBS_TIME_NS_FIELD_NUMBER: _ClassVar[int]
    PRICE_USD_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    GUIDANCE_FIELD_NUMBER: _ClassVar[int]
    NONE_REASON_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    CACHE_STATUS_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    HEDGED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    LEASED_FIELD_NUMBER: _ClassVar[int]
    OVERHEAD_US_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_WHILE_FIELD_NUMBER: _ClassVar[int]
    kind: AnswerKind
    provider_ids: _containers.RepeatedScalarFieldContainer[str]
    session_generation: int
    lane: _containers.RepeatedScalarFieldContainer[int]
    ask_id: _containers.RepeatedScalarFieldContainer[int]
    episode: _containers.RepeatedScalarFieldContainer[int]
    step: _containers.RepeatedScalarFieldContainer[int]
    lane_generation: _containers.RepeatedScalarFieldContainer[int]
    seq: _containers.RepeatedScalarFieldContainer[int]
    supersedes: _containers.RepeatedScalarFieldContainer[int]
    obs_time_ns: _containers.RepeatedScalarFieldContainer[int]
    price_usd: _containers.RepeatedScalarFieldContainer[float]
    confidence: _containers.RepeatedScalarFieldContainer[float]
    guidance: Guidance
    none_reason: NoneReason
    pending: bool
    ended: bool
    cache_status: CacheStatus
    age_ms: int
    attempts: int
    hedged: bool
    degraded: bool
    leased: bool
    overhead_us: int
    timing: Timing
    goal_id: str
    valid_while: ValidWhile
    def __init__(self, kind: _Optional[_Union[AnswerKind, str]] = ..., provider_ids: _Optional[_Iterable[str]] = ..., session_generation: _Optional[int] = ..., lane: _Optional[_Iterable[int]] = ..., ask_id: _Optional[_Iterable[int]] = ..., episode: _Optional[_Iterable[int]] = ..., step: _Optional[_Iterable[int]] = ..., lane_generation: _Optional[_Iterable[int]] = ..., seq: _Optional[_Iterable[int]] = ..., supersedes: _Optional[_Iterable[int]] = ..., obs_time_ns: _Optional[_Iterable[int]] = ..., price_usd: _Optional[_Iterable[float]] = ..., confidence: _Optional[_Iterable[float]] = ..., guidance: _Optional[_Union[Guidance, _Mapping]] = ..., none_reason: _Optional[_Union[NoneReason, str]] = ..., pending: _Optional[bool] = ..., ended: _Optional[bool] = ..., cache_status: _Optional[_Union[CacheStatus, str]] = ..., age_ms: _Optional[int] = ..., attempts: _Optional[int] = ..., hedged: _Optional[bool] = ..., degraded: _Optional[bool] = ..., leased: _Optional[bool] = ..., overhead_us: _Optional[int] = ..., timing: _Optional[_Union[Timing, _Mapping]] = ..., goal_id: _Optional[str] = ..., valid_while: _Optional[_Union[ValidWhile, _Mapping]] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("lane", "ask_id", "episode", "step", "code", "reason", "message", "field", "retry_after_ms", "outcome", "ended")
    LANE_FIELD_NUMBER: _ClassVar[int]
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    lane: int
    ask_id: int
    episode: int
    step: int
    code: int
    reason: str
    message: str
    field: str
    retry_after_ms: int
    outcome: AskOutcome
    ended: bool
    def __init__(self, lane: _Optional[int] = ..., ask_id: _Optional[int] = ..., episode: _Optional[int] = ..., step: _Optional[int] = ..., code: _Optional[int] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., field: _Optional[str] = ..., retry_after_ms: _Optional[int] = ..., outcome: _Optional[_Union[AskOutcome, str]] = ..., ended: _Optional[bool] = ...) -> None: ...

class GetGuidanceRequest(_message.Message):
    __slots__ = ("agent", "task", "ask")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    ASK_FIELD_NUMBER: _ClassVar[int]
    agent: str
    task: str
    ask: AskBatch
    def __init__(self, agent: _Optional[str] = ..., task: _Optional[str] = ..., ask: _Optional[_Union[AskBatch, _Mapping]] = ...) -> None: ...

class GetGuidanceResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: AnswerBatch
    def __init__(self, answer: _Optional[_Union[AnswerBatch, _Mapping]] = ...) -> None: ...

class LaneSpec(_message.Message):
    __slots__ = ("lane", "period_us", "action_names", "merge", "blend_mask")
    LANE_FIELD_NUMBER: _ClassVar[int]
    PERIOD_US_FIELD_NUMBER: _ClassVar[int]
    ACTION_NAMES_FIELD_NUMBER: _ClassVar[int]
    MERGE_FIELD_NUMBER: _ClassVar[int]
    BLEND_MASK_FIELD_NUMBER: _ClassVar[int]
    lane: int
    period_us: int
    action_names: _containers.RepeatedScalarFieldContainer[str]
    merge: Merge
    blend_mask: _containers.RepeatedScalarFieldContainer[bool]
    def __init__(self, lane: _Optional[int] = ..., period_us: _Optional[int] = ..., action_names: _Optional[_Iterable[str]] = ..., merge: _Optional[_Union[Merge, _Mapping]] = ..., blend_mask: _Optional[_Iterable[bool]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("protocol_version", "agent", "client_version", "task", "observations", "context", "action", "lanes")
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    LANES_FIELD_NUMBER: _ClassVar[int]
    protocol_version: int
    agent: str
    client_version: str
    task: str
    observations: _containers.RepeatedCompositeFieldContainer[TensorSpec]
    context: _containers.RepeatedCompositeFieldContainer[TensorSpec]
    action: ActionSpec
    lanes: _containers.RepeatedCompositeFieldContainer[LaneSpec]
    def __init__(self, protocol_version: _Optional[int] = ..., agent: _Optional[str] = ..., client_version: _Optional[str] = ..., task: _Optional[str] = ..., observations: _Optional[_Iterable[_Union[TensorSpec, _Mapping]]] = ..., context: _Optional[_Iterable[_Union[TensorSpec, _Mapping]]] = ..., action: _Optional[_Union[ActionSpec, _Mapping]] = ..., lanes: _Optional[_Iterable[_Union[LaneSpec, _Mapping]]] = ...) -> None: ...

class EpisodeStart(_message.Message):
    __slots__ = ("lane", "episode", "lane_generation")
    LANE_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    LANE_GENERATION_FIELD_NUMBER: _ClassVar[int]
    lane: int
    episode: int
    lane_generation: int
    def __init__(self, lane: _Optional[int] = ..., episode: _Optional[int] = ..., lane_generation: _Optional[int] = ...) -> None: ...

class EpisodeEnd(_message.Message):
    __slots__ = ("lane", "episode", "lane_generation", "truncated")
    LANE_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    LANE_GENERATION_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    lane: int
    episode: int
    lane_generation: int
    truncated: bool
    def __init__(self, lane: _Optional[int] = ..., episode: _Optional[int] = ..., lane_generation: _Optional[int] = ..., truncated: _Optional[bool] = ...) -> None: ...

class LaneEvent(_message.Message):
    __slots__ = ("lane", "kind", "lane_generation", "goal_id")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[LaneEvent.Kind]
        KIND_ACTIVE: _ClassVar[LaneEvent.Kind]
        KIND_PAUSED: _ClassVar[LaneEvent.Kind]
        KIND_FAULT: _ClassVar[LaneEvent.Kind]
        KIND_TAKEOVER: _ClassVar[LaneEvent.Kind]
        KIND_GOAL_CHANGED: _ClassVar[LaneEvent.Kind]
    KIND_UNSPECIFIED: LaneEvent.Kind
    KIND_ACTIVE: LaneEvent.Kind
    KIND_PAUSED: LaneEvent.Kind
    KIND_FAULT: LaneEvent.Kind
    KIND_TAKEOVER: LaneEvent.Kind
    KIND_GOAL_CHANGED: LaneEvent.Kind
    LANE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LANE_GENERATION_FIELD_NUMBER: _ClassVar[int]
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    lane: int
    kind: LaneEvent.Kind
    lane_generation: int
    goal_id: str
    def __init__(self, lane: _Optional[int] = ..., kind: _Optional[_Union[LaneEvent.Kind, str]] = ..., lane_generation: _Optional[int] = ..., goal_id: _Optional[str] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ("lane", "ask_id", "used", "weight", "steps_held", "reward_sum", "discounted_reward_sum", "value_before", "value_after", "episode_ended", "delay_steps", "rows_received", "rows_used", "rows_late", "rows_merged", "rows_clipped", "starved_steps", "drop_reason")
    class DropReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        DROP_REASON_UNSPECIFIED: _ClassVar[Outcome.DropReason]
        DROP_REASON_LATE: _ClassVar[Outcome.DropReason]
        DROP_REASON_LATE_PREFIX: _ClassVar[Outcome.DropReason]
        DROP_REASON_STALE_GENERATION: _ClassVar[Outcome.DropReason]
        DROP_REASON_SUPERSEDED: _ClassVar[Outcome.DropReason]
        DROP_REASON_DECLINED: _ClassVar[Outcome.DropReason]
        DROP_REASON_CONSTRAINED: _ClassVar[Outcome.DropReason]
    DROP_REASON_UNSPECIFIED: Outcome.DropReason
    DROP_REASON_LATE: Outcome.DropReason
    DROP_REASON_LATE_PREFIX: Outcome.DropReason
    DROP_REASON_STALE_GENERATION: Outcome.DropReason
    DROP_REASON_SUPERSEDED: Outcome.DropReason
    DROP_REASON_DECLINED: Outcome.DropReason
    DROP_REASON_CONSTRAINED: Outcome.DropReason
    LANE_FIELD_NUMBER: _ClassVar[int]
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    STEPS_HELD_FIELD_NUMBER: _ClassVar[int]
    REWARD_SUM_FIELD_NUMBER: _ClassVar[int]
    DISCOUNTED_REWARD_SUM_FIELD_NUMBER: _ClassVar[int]
    VALUE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    VALUE_AFTER_FIELD_NUMBER: _ClassVar[int]
    EPISODE_ENDED_FIELD_NUMBER: _ClassVar[int]
    DELAY_STEPS_FIELD_NUMBER: _ClassVar[int]
    ROWS_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    ROWS_USED_FIELD_NUMBER: _ClassVar[int]
    ROWS_LATE_FIELD_NUMBER: _ClassVar[int]
    ROWS_MERGED_FIELD_NUMBER: _ClassVar[int]
    ROWS_CLIPPED_FIELD_NUMBER: _ClassVar[int]
    STARVED_STEPS_FIELD_NUMBER: _ClassVar[int]
    DROP_REASON_FIELD_NUMBER: _ClassVar[int]
    lane: int
    ask_id: int
    used: bool
    weight: float
    steps_held: int
    reward_sum: float
    discounted_reward_sum: float
    value_before: float
    value_after: float
    episode_ended: bool
    delay_steps: int
    rows_received: int
    rows_used: int
    rows_late: int
    rows_merged: int
    rows_clipped: int
    starved_steps: int
    drop_reason: Outcome.DropReason
    def __init__(self, lane: _Optional[int] = ..., ask_id: _Optional[int] = ..., used: _Optional[bool] = ..., weight: _Optional[float] = ..., steps_held: _Optional[int] = ..., reward_sum: _Optional[float] = ..., discounted_reward_sum: _Optional[float] = ..., value_before: _Optional[float] = ..., value_after: _Optional[float] = ..., episode_ended: _Optional[bool] = ..., delay_steps: _Optional[int] = ..., rows_received: _Optional[int] = ..., rows_used: _Optional[int] = ..., rows_late: _Optional[int] = ..., rows_merged: _Optional[int] = ..., rows_clipped: _Optional[int] = ..., starved_steps: _Optional[int] = ..., drop_reason: _Optional[_Union[Outcome.DropReason, str]] = ...) -> None: ...

class SessionRequest(_message.Message):
    __slots__ = ("hello", "episode_ends", "episode_starts", "lane_events", "cancels", "asks", "lease_rows", "outcomes")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    EPISODE_ENDS_FIELD_NUMBER: _ClassVar[int]
    EPISODE_STARTS_FIELD_NUMBER: _ClassVar[int]
    LANE_EVENTS_FIELD_NUMBER: _ClassVar[int]
    CANCELS_FIELD_NUMBER: _ClassVar[int]
    ASKS_FIELD_NUMBER: _ClassVar[int]
    LEASE_ROWS_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    episode_ends: _containers.RepeatedCompositeFieldContainer[EpisodeEnd]
    episode_starts: _containers.RepeatedCompositeFieldContainer[EpisodeStart]
    lane_events: _containers.RepeatedCompositeFieldContainer[LaneEvent]
    cancels: _containers.RepeatedCompositeFieldContainer[Cancel]
    asks: _containers.RepeatedCompositeFieldContainer[AskBatch]
    lease_rows: _containers.RepeatedCompositeFieldContainer[LeaseRows]
    outcomes: _containers.RepeatedCompositeFieldContainer[Outcome]
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., episode_ends: _Optional[_Iterable[_Union[EpisodeEnd, _Mapping]]] = ..., episode_starts: _Optional[_Iterable[_Union[EpisodeStart, _Mapping]]] = ..., lane_events: _Optional[_Iterable[_Union[LaneEvent, _Mapping]]] = ..., cancels: _Optional[_Iterable[_Union[Cancel, _Mapping]]] = ..., asks: _Optional[_Iterable[_Union[AskBatch, _Mapping]]] = ..., lease_rows: _Optional[_Iterable[_Union[LeaseRows, _Mapping]]] = ..., outcomes: _Optional[_Iterable[_Union[Outcome, _Mapping]]] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("max_rows", "max_message_bytes", "max_hold_steps", "keepalive_ms")
    MAX_ROWS_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_HOLD_STEPS_FIELD_NUMBER: _ClassVar[int]
    KEEPALIVE_MS_FIELD_NUMBER: _ClassVar[int]
    max_rows: int
    max_message_bytes: int
    max_hold_steps: int
    keepalive_ms: int
    def __init__(self, max_rows: _Optional[int] = ..., max_message_bytes: _Optional[int] = ..., max_hold_steps: _Optional[int] = ..., keepalive_ms: _Optional[int] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("session_generation", "broker_id", "config_generation", "providers", "credits", "limits")
    SESSION_GENERATION_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIG_GENERATION_FIELD_NUMBER: _ClassVar[int]
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    CREDITS_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    session_generation: int
    broker_id: str
    config_generation: int
    providers: _containers.RepeatedCompositeFieldContainer[ProviderInfo]
    credits: int
    limits: Limits
    def __init__(self, session_generation: _Optional[int] = ..., broker_id: _Optional[str] = ..., config_generation: _Optional[int] = ..., providers: _Optional[_Iterable[_Union[ProviderInfo, _Mapping]]] = ..., credits: _Optional[int] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ...) -> None: ...

class Price(_message.Message):
    __slots__ = ("usd_per_ask", "usd_per_leased_step", "usd_per_input_token", "usd_per_output_token", "billed_when_cancelled")
    USD_PER_ASK_FIELD_NUMBER: _ClassVar[int]
    USD_PER_LEASED_STEP_FIELD_NUMBER: _ClassVar[int]
    USD_PER_INPUT_TOKEN_FIELD_NUMBER: _ClassVar[int]
    USD_PER_OUTPUT_TOKEN_FIELD_NUMBER: _ClassVar[int]
    BILLED_WHEN_CANCELLED_FIELD_NUMBER: _ClassVar[int]
    usd_per_ask: float
    usd_per_leased_step: float
    usd_per_input_token: float
    usd_per_output_token: float
    billed_when_cancelled: bool
    def __init__(self, usd_per_ask: _Optional[float] = ..., usd_per_leased_step: _Optional[float] = ..., usd_per_input_token: _Optional[float] = ..., usd_per_output_token: _Optional[float] = ..., billed_when_cancelled: _Optional[bool] = ...) -> None: ...

class Reads(_message.Message):
    __slots__ = ("prefix", "sim_state", "context", "history")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    SIM_STATE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    prefix: bool
    sim_state: bool
    context: bool
    history: bool
    def __init__(self, prefix: _Optional[bool] = ..., sim_state: _Optional[bool] = ..., context: _Optional[bool] = ..., history: _Optional[bool] = ...) -> None: ...

class ProviderInfo(_message.Message):
    __slots__ = ("provider_id", "kind", "guidance_kinds", "price", "tasks", "observations", "action", "timeout_ms", "max_concurrency", "state_scope", "chunk_len", "period_us", "layout_id", "action_names", "max_delay_steps", "reads", "key_fields", "leasable")
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    GUIDANCE_KINDS_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_CONCURRENCY_FIELD_NUMBER: _ClassVar[int]
    STATE_SCOPE_FIELD_NUMBER: _ClassVar[int]
    CHUNK_LEN_FIELD_NUMBER: _ClassVar[int]
    PERIOD_US_FIELD_NUMBER: _ClassVar[int]
    LAYOUT_ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_NAMES_FIELD_NUMBER: _ClassVar[int]
    MAX_DELAY_STEPS_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELDS_FIELD_NUMBER: _ClassVar[int]
    LEASABLE_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    kind: ProviderKind
    guidance_kinds: _containers.RepeatedScalarFieldContainer[GuidanceKind]
    price: Price
    tasks: _containers.RepeatedScalarFieldContainer[str]
    observations: _containers.RepeatedCompositeFieldContainer[TensorSpec]
    action: ActionSpec
    timeout_ms: int
    max_concurrency: int
    state_scope: StateScope
    chunk_len: int
    period_us: int
    layout_id: str
    action_names: _containers.RepeatedScalarFieldContainer[str]
    max_delay_steps: int
    reads: Reads
    key_fields: _containers.RepeatedScalarFieldContainer[str]
    leasable: bool
    def __init__(self, provider_id: _Optional[str] = ..., kind: _Optional[_Union[ProviderKind, str]] = ..., guidance_kinds: _Optional[_Iterable[_Union[GuidanceKind, str]]] = ..., price: _Optional[_Union[Price, _Mapping]] = ..., tasks: _Optional[_Iterable[str]] = ..., observations: _Optional[_Iterable[_Union[TensorSpec, _Mapping]]] = ..., action: _Optional[_Union[ActionSpec, _Mapping]] = ..., timeout_ms: _Optional[int] = ..., max_concurrency: _Optional[int] = ..., state_scope: _Optional[_Union[StateScope, str]] = ..., chunk_len: _Optional[int] = ..., period_us: _Optional[int] = ..., layout_id: _Optional[str] = ..., action_names: _Optional[_Iterable[str]] = ..., max_delay_steps: _Optional[int] = ..., reads: _Optional[_Union[Reads, _Mapping]] = ..., key_fields: _Optional[_Iterable[str]] = ..., leasable: _Optional[bool] = ...) -> None: ...

class LatencyQuantiles(_message.Message):
    __slots__ = ("p50_ms", "p95_ms", "p99_ms", "samples")
    P50_MS_FIELD_NUMBER: _ClassVar[int]
    P95_MS_FIELD_NUMBER: _ClassVar[int]
    P99_MS_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    p50_ms: float
    p95_ms: float
    p99_ms: float
    samples: int
    def __init__(self, p50_ms: _Optional[float] = ..., p95_ms: _Optional[float] = ..., p99_ms: _Optional[float] = ..., samples: _Optional[int] = ...) -> None: ...

class PredictionQuality(_message.Message):
    __slots__ = ("agreement", "error_p90", "served_share")
    AGREEMENT_FIELD_NUMBER: _ClassVar[int]
    ERROR_P90_FIELD_NUMBER: _ClassVar[int]
    SERVED_SHARE_FIELD_NUMBER: _ClassVar[int]
    agreement: float
    error_p90: float
    served_share: float
    def __init__(self, agreement: _Optional[float] = ..., error_p90: _Optional[float] = ..., served_share: _Optional[float] = ...) -> None: ...

class ProviderUpdate(_message.Message):
    __slots__ = ("provider_id", "state", "progress", "latency", "price", "in_flight", "queued", "prediction", "config_generation", "info")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[ProviderUpdate.State]
        STATE_READY: _ClassVar[ProviderUpdate.State]
        STATE_LOADING: _ClassVar[ProviderUpdate.State]
        STATE_WARMING: _ClassVar[ProviderUpdate.State]
        STATE_DRAINING: _ClassVar[ProviderUpdate.State]
        STATE_OPEN: _ClassVar[ProviderUpdate.State]
        STATE_COOLING: _ClassVar[ProviderUpdate.State]
        STATE_REMOVED: _ClassVar[ProviderUpdate.State]
    STATE_UNSPECIFIED: ProviderUpdate.State
    STATE_READY: ProviderUpdate.State
    STATE_LOADING: ProviderUpdate.State
    STATE_WARMING: ProviderUpdate.State
    STATE_DRAINING: ProviderUpdate.State
    STATE_OPEN: ProviderUpdate.State
    STATE_COOLING: ProviderUpdate.State
    STATE_REMOVED: ProviderUpdate.State
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    LATENCY_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    PREDICTION_FIELD_NUMBER: _ClassVar[int]
    CONFIG_GENERATION_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    state: ProviderUpdate.State
    progress: float
    latency: LatencyQuantiles
    price: Price
    in_flight: int
    queued: int
    prediction: PredictionQuality
    config_generation: int
    info: ProviderInfo
    def __init__(self, provider_id: _Optional[str] = ..., state: _Optional[_Union[ProviderUpdate.State, str]] = ..., progress: _Optional[float] = ..., latency: _Optional[_Union[LatencyQuantiles, _Mapping]] = ..., price: _Optional[_Union[Price, _Mapping]] = ..., in_flight: _Optional[int] = ..., queued: _Optional[int] = ..., prediction: _Optional[_Union[PredictionQuality, _Mapping]] = ..., config_generation: _Optional[int] = ..., info: _Optional[_Union[ProviderInfo, _Mapping]] = ...) -> None: ...

class OperatorPush(_message.Message):
    __slots__ = ("stop", "guidance", "lane", "reason")
    STOP_FIELD_NUMBER: _ClassVar[int]
    GUIDANCE_FIELD_NUMBER: _ClassVar[int]
    LANE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    stop: bool
    guidance: Guidance
    lane: _containers.RepeatedScalarFieldContainer[int]
    reason: str
    def __init__(self, stop: _Optional[bool] = ..., guidance: _Optional[_Union[Guidance, _Mapping]] = ..., lane: _Optional[_Iterable[int]] = ..., reason: _Optional[str] = ...) -> None: ...

class Gap(_message.Message):
    __slots__ = ("dropped_updates",)
    DROPPED_UPDATES_FIELD_NUMBER: _ClassVar[int]
    dropped_updates: int
    def __init__(self, dropped_updates: _Optional[int] = ...) -> None: ...

class SessionResponse(_message.Message):
    __slots__ = ("welcome", "gap", "constraints", "pushes", "answers", "failures", "provider_updates", "credits_returned")
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    PUSHES_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_UPDATES_FIELD_NUMBER: _ClassVar[int]
    CREDITS_RETURNED_FIELD_NUMBER: _ClassVar[int]
    welcome: Welcome
    gap: Gap
    constraints: _containers.RepeatedCompositeFieldContainer[Constraints]
    pushes: _containers.RepeatedCompositeFieldContainer[OperatorPush]
    answers: _containers.RepeatedCompositeFieldContainer[AnswerBatch]
    failures: _containers.RepeatedCompositeFieldContainer[Failure]
    provider_updates: _containers.RepeatedCompositeFieldContainer[ProviderUpdate]
    credits_returned: int
    def __init__(self, welcome: _Optional[_Union[Welcome, _Mapping]] = ..., gap: _Optional[_Union[Gap, _Mapping]] = ..., constraints: _Optional[_Iterable[_Union[Constraints, _Mapping]]] = ..., pushes: _Optional[_Iterable[_Union[OperatorPush, _Mapping]]] = ..., answers: _Optional[_Iterable[_Union[AnswerBatch, _Mapping]]] = ..., failures: _Optional[_Iterable[_Union[Failure, _Mapping]]] = ..., provider_updates: _Optional[_Iterable[_Union[ProviderUpdate, _Mapping]]] = ..., credits_returned: _Optional[int] = ...) -> None: ...

class ReportOutcomeRequest(_message.Message):
    __slots__ = ("agent", "outcomes")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    agent: str
    outcomes: _containers.RepeatedCompositeFieldContainer[Outcome]
    def __init__(self, agent: _Optional[str] = ..., outcomes: _Optional[_Iterable[_Union[Outcome, _Mapping]]] = ...) -> None: ...

class ReportOutcomeResponse(_message.Message):
    __slots__ = ("accepted", "duplicates", "unknown")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    accepted: int
    duplicates: int
    unknown: int
    def __init__(self, accepted: _Optional[int] = ..., duplicates: _Optional[int] = ..., unknown: _Optional[int] = ...) -> None: ...

class ListProvidersRequest(_message.Message):
    __slots__ = ("task",)
    TASK_FIELD_NUMBER: _ClassVar[int]
    task: str
    def __init__(self, task: _Optional[str] = ...) -> None: ...

class ListProvidersResponse(_message.Message):
    __slots__ = ("providers", "states", "config_generation")
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    CONFIG_GENERATION_FIELD_NUMBER: _ClassVar[int]
    providers: _containers.RepeatedCompositeFieldContainer[ProviderInfo]
    states: _containers.RepeatedCompositeFieldContainer[ProviderUpdate]
    config_generation: int
    def __init__(self, providers: _Optional[_Iterable[_Union[ProviderInfo, _Mapping]]] = ..., states: _Optional[_Iterable[_Union[ProviderUpdate, _Mapping]]] = ..., config_generation: _Optional[int] = ...) -> None: ...
