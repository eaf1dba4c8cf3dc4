from protos.guidance.v1 import guidance_pb2 as _guidance_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GuideOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GUIDE_OUTCOME_UNSPECIFIED: _ClassVar[GuideOutcome]
    GUIDE_OUTCOME_OK: _ClassVar[GuideOutcome]
    GUIDE_OUTCOME_NO_GUIDANCE: _ClassVar[GuideOutcome]
    GUIDE_OUTCOME_REFUSED: _ClassVar[GuideOutcome]
GUIDE_OUTCOME_UNSPECIFIED: GuideOutcome
GUIDE_OUTCOME_OK: GuideOutcome
GUIDE_OUTCOME_NO_GUIDANCE: GuideOutcome
GUIDE_OUTCOME_REFUSED: GuideOutcome

class DescribeRequest(_message.Message):
    __slots__ = ("task",)
    TASK_FIELD_NUMBER: _ClassVar[int]
    task: str
    def __init__(self, task: _Optional[str] = ...) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("info",)
    INFO_FIELD_NUMBER: _ClassVar[int]
    info: _guidance_pb2.ProviderInfo
    def __init__(self, info: _Optional[_Union[_guidance_pb2.ProviderInfo, _Mapping]] = ...) -> None: ...

class GuideRequest(_message.Message):
    __slots__ = ("task", "ask")
    TASK_FIELD_NUMBER: _ClassVar[int]
    ASK_FIELD_NUMBER: _ClassVar[int]
    task: str
    ask: _guidance_pb2.AskBatch
    def __init__(self, task: _Optional[str] = ..., ask: _Optional[_Union[_guidance_pb2.AskBatch, _Mapping]] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("input_tokens", "output_tokens", "price_usd")
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    PRICE_USD_FIELD_NUMBER: _ClassVar[int]
    input_tokens: int
    output_tokens: int
    price_usd: float
    def __init__(self, input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., price_usd: _Optional[float] = ...) -> None: ...

class GuideResponse(_message.Message):
    __slots__ = ("outcome", "guidance", "confidence", "usage", "valid_while")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    GUIDANCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    VALID_WHILE_FIELD_NUMBER: _ClassVar[int]
    outcome: GuideOutcome
    guidance: _guidance_pb2.Guidance
    confidence: _containers.RepeatedScalarFieldContainer[float]
    usage: Usage
    valid_while: _guidance_pb2.ValidWhile
    def __init__(self, outcome: _Optional[_Union[GuideOutcome, str]] = ..., guidance: _Optional[_Union[_guidance_pb2.Guidance, _Mapping]] = ..., confidence: _Optional[_Iterable[float]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., valid_while: _Optional[_Union[_guidance_pb2.ValidWhile, _Mapping]] = ...) -> None: ...
