"""Authentication in front of every RPC, whatever its arity. Only the standard health service is exempt."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import grpc
from grpc_health.v1 import health

from broker.auth import Authenticator, Grant, Role, require
from broker.errors import BrokerError

Abort = Callable[["grpc.aio.ServicerContext[Any, Any]", BrokerError], Awaitable[Any]]
"""Ends a call with an error's status and details; never returns."""

_EXEMPT = f"/{health.SERVICE_NAME}/"
_ANYONE = frozenset(Role)
_ROLES = {
    "/guidance.v1.GuidanceService/ListProviders": frozenset({Role.AGENT, Role.ADMIN}),
    "/guidance.v1.GuidanceService/": frozenset({Role.AGENT}),
    "/guidance.v1.AdminService/": frozenset({Role.ADMIN}),
}

_caller: ContextVar[Grant] = ContextVar("caller")


def caller() -> Grant:
    """Who called, inside the handler of an RPC."""
    return _caller.get()


class AuthInterceptor(grpc.aio.ServerInterceptor):
    """Refuses a call before its handler is entered; else :func:`caller` tells the handler who it is."""

    def __init__(
        self,
        authenticator: Authenticator,
        abort: Abort,
        on_refused: Callable[[str, BrokerError], None] = lambda method, error: None,
    ) -> None:
        """``on_refused(method, error)`` is told of every call that is refused, for the counts."""
        self._authenticator = authenticator
        self._abort = abort
        self._on_refused = on_refused

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        handler = await continuation(details)
        if handler is None or details.method.startswith(_EXEMPT):
            return handler
        try:
            grant = self._authenticator.identify(_authorization(details.invocation_metadata))
            require(grant, _roles_for(details.method))
        except BrokerError as error:
            self._on_refused(details.method, error)
            return _refusing(handler, self._abort, error)
        _caller.set(grant)
        return handler


def _authorization(metadata: Any) -> str | None:
    for key, value in metadata or ():
        if key == "authorization":
            return value if isinstance(value, str) else None
    return None


def _roles_for(method: str) -> frozenset[Role]:
    service = method[: method.rfind("/") + 1]
    return _ROLES.get(method) or _ROLES.get(service) or _ANYONE


def _refusing(
    handler: grpc.RpcMethodHandler[Any, Any], abort: Abort, error: BrokerError
) -> grpc.RpcMethodHandler[Any, Any]:
    """A handler of the same arity that ends the call at once."""

    async def refuse(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        await abort(context, error)

    async def refuse_stream(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Any]:
        await abort(context, error)
        yield

    make, behaviour = {
        (False, False): (grpc.unary_unary_rpc_method_handler, refuse),
        (False, True): (grpc.unary_stream_rpc_method_handler, refuse_stream),
        (True, False): (grpc.stream_unary_rpc_method_handler, refuse),
        (True, True): (grpc.stream_stream_rpc_method_handler, refuse_stream),
    }[handler.request_streaming, handler.response_streaming]
    return make(behaviour, handler.request_deserializer, handler.response_serializer)
