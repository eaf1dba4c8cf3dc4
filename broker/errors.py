"""The broker's errors, each leaf with its gRPC status and a documented reason.

BrokerError
├── InvalidRequest        INVALID_ARGUMENT      the caller's fault; names the field and the fix
├── PreconditionFailed    FAILED_PRECONDITION   right in itself, wrong now (a second open episode)
├── NotServed             UNIMPLEMENTED         a mode or field that this broker does not serve yet
├── Unauthenticated       UNAUTHENTICATED       wrong and missing credentials read the same
├── PermissionRefused     PERMISSION_DENIED     a role that may not do this
├── OverBudget            RESOURCE_EXHAUSTED    paid calls only; free ones go on
├── Shed                  RESOURCE_EXHAUSTED    too much at once; carries a retry hint
├── Unavailable           UNAVAILABLE           no source can answer now; carries a retry hint
├── DeadlineReached       DEADLINE_EXCEEDED     the ask's clock ended first
├── Cancelled             CANCELLED             the caller said so
└── Internal              INTERNAL              ours; the text never leaves the process
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import grpc

from protos.types import AskOutcome


@dataclass(eq=False)
class BrokerError(Exception):
    """``reason`` is UPPER_SNAKE and documented in docs/errors.md; ``message`` is safe to send."""

    message: str
    reason: str = ""
    field: str = ""
    retry_after_ms: int = 0

    code: ClassVar[grpc.StatusCode] = grpc.StatusCode.INTERNAL
    outcome: ClassVar[AskOutcome] = AskOutcome.INTERNAL
    default_reason: ClassVar[str] = "INTERNAL"

    def __str__(self) -> str:
        return self.message

    @property
    def code_number(self) -> int:
        return int(self.code.value[0])

    @property
    def reason_or_default(self) -> str:
        return self.reason or self.default_reason


class InvalidRequest(BrokerError):
    code = grpc.StatusCode.INVALID_ARGUMENT
    outcome = AskOutcome.CALLER_FAULT
    default_reason = "INVALID_REQUEST"


class PreconditionFailed(BrokerError):
    code = grpc.StatusCode.FAILED_PRECONDITION
    outcome = AskOutcome.CALLER_FAULT
    default_reason = "FAILED_PRECONDITION"


class NotServed(BrokerError):
    code = grpc.StatusCode.UNIMPLEMENTED
    outcome = AskOutcome.CALLER_FAULT
    default_reason = "NOT_SERVED"


class Unauthenticated(BrokerError):
    code = grpc.StatusCode.UNAUTHENTICATED
    outcome = AskOutcome.CALLER_FAULT
    default_reason = "UNAUTHENTICATED"


class PermissionRefused(BrokerError):
    code = grpc.StatusCode.PERMISSION_DENIED
    outcome = AskOutcome.CALLER_FAULT
    default_reason = "PERMISSION_DENIED"


class OverBudget(BrokerError):
    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    outcome = AskOutcome.OVER_BUDGET
    default_reason = "OVER_BUDGET"


class Shed(BrokerError):
    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    outcome = AskOutcome.SHED
    default_reason = "SHED"


class Unavailable(BrokerError):
    code = grpc.StatusCode.UNAVAILABLE
    outcome = AskOutcome.UNAVAILABLE
    default_reason = "NO_SOURCE_AVAILABLE"


class DeadlineReached(BrokerError):
    code = grpc.StatusCode.DEADLINE_EXCEEDED
    outcome = AskOutcome.DEADLINE
    default_reason = "DEADLINE_REACHED"


class Cancelled(BrokerError):
    code = grpc.StatusCode.CANCELLED
    outcome = AskOutcome.CANCELLED
    default_reason = "CANCELLED"


class Internal(BrokerError):
    pass
