"""From a remote source's gRPC status to how the attempt ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import grpc

from broker.outcomes import AttemptOutcome
from broker.providers.interface import ProviderError

RETRY_PUSHBACK = "grpc-retry-pushback-ms"  # gRPC's own trailer for "leave me alone for so long"

_OUTCOMES: Mapping[grpc.StatusCode, AttemptOutcome] = MappingProxyType(
    {
        grpc.StatusCode.DEADLINE_EXCEEDED: AttemptOutcome.DEADLINE,
        grpc.StatusCode.RESOURCE_EXHAUSTED: AttemptOutcome.RATE_LIMITED,
        grpc.StatusCode.UNAUTHENTICATED: AttemptOutcome.MISCONFIGURED,
        grpc.StatusCode.PERMISSION_DENIED: AttemptOutcome.MISCONFIGURED,
        grpc.StatusCode.UNIMPLEMENTED: AttemptOutcome.MISCONFIGURED,
        grpc.StatusCode.INVALID_ARGUMENT: AttemptOutcome.MISCONFIGURED,
        grpc.StatusCode.FAILED_PRECONDITION: AttemptOutcome.MISCONFIGURED,
        grpc.StatusCode.OUT_OF_RANGE: AttemptOutcome.MISCONFIGURED,
        grpc.StatusCode.NOT_FOUND: AttemptOutcome.MISCONFIGURED,
    }
)
"""All others are the source's fault: UNAVAILABLE, INTERNAL, UNKNOWN, ABORTED, DATA_LOSS, its own CANCELLED.

The broker has validated what it sends, so a status that blames the request means that the two sides hold
different ideas of the task.
"""


def error_of_status(
    code: grpc.StatusCode, details: str | None, trailers: Iterable[tuple[str, str | bytes]] = ()
) -> ProviderError:
    """The error an attempt ends with; the text stays inside the process."""
    outcome = _OUTCOMES.get(code, AttemptOutcome.PROVIDER_FAULT)
    if outcome is AttemptOutcome.RATE_LIMITED and "larger than max" in (details or ""):
        outcome = AttemptOutcome.MISCONFIGURED  # gRPC's word for a message above the size limit
    return ProviderError(outcome, f"{code.name}: {details or ''}", _pushback_ms(trailers))


def _pushback_ms(trailers: Iterable[tuple[str, str | bytes]]) -> int | None:
    """Milliseconds that the source asks for; None: it says nothing, or nonsense."""
    for key, value in trailers:
        text = value.decode("ascii", "replace") if isinstance(value, bytes) else value
        if key == RETRY_PUSHBACK and text.isascii() and text.isdigit():
            return int(text)
    return None
