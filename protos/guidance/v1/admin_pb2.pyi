from protos.guidance.v1 import guidance_pb2 as _guidance_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReloadRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReloadResponse(_message.Message):
    __slots__ = ("config_generation", "added", "removed", "changed")
    CONFIG_GENERATION_FIELD_NUMBER: _ClassVar[int]
    ADDED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    config_generation: int
    added: _containers.RepeatedScalarFieldContainer[str]
    removed: _containers.RepeatedScalarFieldContainer[str]
    changed: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, config_generation: _Optional[int] = ..., added: _Optional[_Iterable[str]] = ..., removed: _Optional[_Iterable[str]] = ..., changed: _Optional[_Iterable[str]] = ...) -> None: ...

class DrainProviderRequest(_message.Message):
    __slots__ = ("provider_id", "undo")
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    undo: bool
    def __init__(self, provider_id: _Optional[str] = ..., undo: _Optional[bool] = ...) -> None: ...

class DrainProviderResponse(_message.Message):
    __slots__ = ("in_flight",)
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    in_flight: int
    def __init__(self, in_flight: _Optional[int] = ...) -> None: ...

class ExplainRouteRequest(_message.Message):
    __slots__ = ("tenant", "query")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    query: _guidance_pb2.GetGuidanceRequest
    def __init__(self, tenant: _Optional[str] = ..., query: _Optional[_Union[_guidance_pb2.GetGuidanceRequest, _Mapping]] = ...) -> None: ...

class ExplainedStep(_message.Message):
    __slots__ = ("provider_id", "score", "why")
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    score: float
    why: str
    def __init__(self, provider_id: _Optional[str] = ..., score: _Optional[float] = ..., why: _Optional[str] = ...) -> None: ...

class ExplainRouteResponse(_message.Message):
    __slots__ = ("strategy", "plan", "excluded")
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_FIELD_NUMBER: _ClassVar[int]
    strategy: str
    plan: _containers.RepeatedCompositeFieldContainer[ExplainedStep]
    excluded: _containers.RepeatedCompositeFieldContainer[ExplainedStep]
    def __init__(self, strategy: _Optional[str] = ..., plan: _Optional[_Iterable[_Union[ExplainedStep, _Mapping]]] = ..., excluded: _Optional[_Iterable[_Union[ExplainedStep, _Mapping]]] = ...) -> None: ...

class FlushRequest(_message.Message):
    __slots__ = ("tenant", "task", "provider_id")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    task: str
    provider_id: str
    def __init__(self, tenant: _Optional[str] = ..., task: _Optional[str] = ..., provider_id: _Optional[str] = ...) -> None: ...

class FlushResponse(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: int
    def __init__(self, entries: _Optional[int] = ...) -> None: ...

class LedgerRequest(_message.Message):
    __slots__ = ("tenant",)
    TENANT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    def __init__(self, tenant: _Optional[str] = ...) -> None: ...

class LedgerLine(_message.Message):
    __slots__ = ("tenant", "provider_id", "charges", "charged_usd", "reserved_usd", "saved_usd", "budget_usd")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    CHARGES_FIELD_NUMBER: _ClassVar[int]
    CHARGED_USD_FIELD_NUMBER: _ClassVar[int]
    RESERVED_USD_FIELD_NUMBER: _ClassVar[int]
    SAVED_USD_FIELD_NUMBER: _ClassVar[int]
    BUDGET_USD_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    provider_id: str
    charges: int
    charged_usd: float
    reserved_usd: float
    saved_usd: float
    budget_usd: float
    def __init__(self, tenant: _Optional[str] = ..., provider_id: _Optional[str] = ..., charges: _Optional[int] = ..., charged_usd: _Optional[float] = ..., reserved_usd: _Optional[float] = ..., saved_usd: _Optional[float] = ..., budget_usd: _Optional[float] = ...) -> None: ...

class LedgerResponse(_message.Message):
    __slots__ = ("lines",)
    LINES_FIELD_NUMBER: _ClassVar[int]
    lines: _containers.RepeatedCompositeFieldContainer[LedgerLine]
    def __init__(self, lines: _Optional[_Iterable[_Union[LedgerLine, _Mapping]]] = ...) -> None: ...

class PushRequest(_message.Message):
    __slots__ = ("tenant", "agent", "push", "constraints")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    PUSH_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    agent: str
    push: _guidance_pb2.OperatorPush
    constraints: _guidance_pb2.Constraints
    def __init__(self, tenant: _Optional[str] = ..., agent: _Optional[str] = ..., push: _Optional[_Union[_guidance_pb2.OperatorPush, _Mapping]] = ..., constraints: _Optional[_Union[_guidance_pb2.Constraints, _Mapping]] = ...) -> None: ...

class PushResponse(_message.Message):
    __slots__ = ("sessions",)
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    sessions: int
    def __init__(self, sessions: _Optional[int] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SessionState(_message.Message):
    __slots__ = ("tenant", "agent", "task", "session_generation", "lanes", "in_flight", "queued_out")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    SESSION_GENERATION_FIELD_NUMBER: _ClassVar[int]
    LANES_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    QUEUED_OUT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    agent: str
    task: str
    session_generation: int
    lanes: int
    in_flight: int
    queued_out: int
    def __init__(self, tenant: _Optional[str] = ..., agent: _Optional[str] = ..., task: _Optional[str] = ..., session_generation: _Optional[int] = ..., lanes: _Optional[int] = ..., in_flight: _Optional[int] = ..., queued_out: _Optional[int] = ...) -> None: ...

class ListSessionsResponse(_message.Message):
    __slots__ = ("sessions",)
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[SessionState]
    def __init__(self, sessions: _Optional[_Iterable[_Union[SessionState, _Mapping]]] = ...) -> None: ...
