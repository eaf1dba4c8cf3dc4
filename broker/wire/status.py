"""How a call ends with an error: its gRPC status with the details that AIP-193 asks for."""

from __future__ import annotations

from typing import Any

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from broker.errors import BrokerError

DOMAIN = "guidance.v1"


def status_of(error: BrokerError) -> Any:
    """A ``grpc.Status`` with ErrorInfo, and RetryInfo or BadRequest where they say something."""
    details = [_packed(error_details_pb2.ErrorInfo(reason=error.reason_or_default, domain=DOMAIN))]
    if error.retry_after_ms:
        seconds, milliseconds = divmod(error.retry_after_ms, 1000)
        delay = duration_pb2.Duration(seconds=seconds, nanos=milliseconds * 1_000_000)
        details.append(_packed(error_details_pb2.RetryInfo(retry_delay=delay)))
    if error.field:
        violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=error.message)
        details.append(_packed(error_details_pb2.BadRequest(field_violations=[violation])))
    message = status_pb2.Status(code=error.code_number, message=error.message, details=details)
    return rpc_status.to_status(message)


async def abort(context: grpc.aio.ServicerContext[Any, Any], error: BrokerError) -> None:
    """Ends the call; never returns: grpc raises to unwind the handler."""
    await context.abort_with_status(status_of(error))


def _packed(message: Any) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
