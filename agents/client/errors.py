"""What a caller of the client can catch. The status is always the broker's own, with its reason.

GuidanceError
├── ConnectFailed     no address answered within the time given; `code` and `reason` are of the last try
├── SessionRefused    the broker answered, and said no (token, version, schema)
├── CallFailed        a unary call ended with a status other than OK
└── ClientClosed      used after close
LaneMisuse(ValueError)  a lane that was not declared, or is in the wrong state for this call
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

DETAILS_KEY = "grpc-status-details-bin"
FINAL_CODES = frozenset(
    {
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.FAILED_PRECONDITION,
    }
)
"""Answers to a hello that trying again would not change."""
SUPERSEDED = "SUPERSEDED"


class GuidanceError(Exception):
    """`code` is a gRPC status, `reason` UPPER_SNAKE or empty, `retry_after_ms` 0 where none was given."""

    def __init__(
        self, code: grpc.StatusCode, message: str, reason: str = "", retry_after_ms: int = 0
    ) -> None:
        super().__init__(f"{code.name}{f' ({reason})' if reason else ''}: {message}")
        self.code = code
        self.message = message
        self.reason = reason
        self.retry_after_ms = retry_after_ms


class ConnectFailed(GuidanceError):
    pass


class SessionRefused(GuidanceError):
    pass


class CallFailed(GuidanceError):
    pass


class ClientClosed(GuidanceError):
    def __init__(self, what: str) -> None:
        super().__init__(grpc.StatusCode.CANCELLED, f"the {what} is closed", "CLIENT_CLOSED")


class LaneMisuse(ValueError):
    """Names the lane and what to do first."""


@dataclass(frozen=True, slots=True)
class Status:
    """How a call or a stream ended."""

    code: grpc.StatusCode
    message: str = ""
    reason: str = ""
    retry_after_ms: int = 0

    @property
    def final(self) -> bool:
        """Trying again would not change it, or would throw out whoever took this agent's name over."""
        return self.code in FINAL_CODES or self.reason == SUPERSEDED

    def error(self, kind: type[ConnectFailed] | type[SessionRefused] | type[CallFailed]) -> GuidanceError:
        return kind(self.code, self.message, self.reason, self.retry_after_ms)


def status_of(
    code: grpc.StatusCode, details: str | None, trailing: Iterable[tuple[str, str | bytes]] | None
) -> Status:
    """Read the rich status out of the trailing metadata, where there is one."""
    reason, retry_ms = "", 0
    for key, value in trailing or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            reason, retry_ms = _rich(value)
    return Status(code, details or "", reason, retry_ms)


def status_of_error(error: grpc.aio.AioRpcError) -> Status:
    return status_of(error.code(), error.details(), error.trailing_metadata())


def _rich(value: bytes) -> tuple[str, int]:
    reason, retry_ms = "", 0
    try:
        status = status_pb2.Status.FromString(value)
    except DecodeError:
        return reason, retry_ms
    for detail in status.details:
        info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(retry):
            retry_ms = int(retry.retry_delay.ToMilliseconds())
    return reason, retry_ms
