"""The gRPC servicers of the agent-facing service: decode, call, encode, error to status. No policy."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc

from broker.asks.identity import IdentityTable, check_agent
from broker.asks.reports import Reports
from broker.errors import BrokerError, Internal
from broker.service import Service
from broker.sessions.provider_updates import ProviderTable
from broker.wire.auth_interceptor import caller
from broker.wire.session_stream import SessionStream
from broker.wire.status import abort
from broker.wire.unary import UnaryCalls
from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb

R = TypeVar("R")
Context = grpc.aio.ServicerContext[Any, Any]
SERVICE = "guidance.v1.GuidanceService"


class GuidanceServicer:
    """``handlers`` registers it. Replies of the two asking RPCs are bytes, serialised already."""

    def __init__(
        self,
        unary: UnaryCalls,
        stream: SessionStream,
        service: Service,
        identity: IdentityTable,
        reports: Reports,
        providers: ProviderTable,
        log_fault: Callable[[BaseException], None],
    ) -> None:
        self._unary = unary
        self._stream = stream
        self._service = service
        self._identity = identity
        self._reports = reports
        self._providers = providers
        self._log_fault = log_fault

    def handlers(self) -> grpc.GenericRpcHandler:
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "GetGuidance": grpc.unary_unary_rpc_method_handler(
                self.get_guidance, pb.GetGuidanceRequest.FromString, None
            ),
            "Session": grpc.stream_stream_rpc_method_handler(
                self.session, pb.SessionRequest.FromString, None
            ),
            "ReportOutcome": grpc.unary_unary_rpc_method_handler(
                self.report_outcome,
                pb.ReportOutcomeRequest.FromString,
                pb.ReportOutcomeResponse.SerializeToString,
            ),
            "ListProviders": grpc.unary_unary_rpc_method_handler(
                self.list_providers,
                pb.ListProvidersRequest.FromString,
                pb.ListProvidersResponse.SerializeToString,
            ),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    async def session(self, requests: Any, context: Context) -> None:
        await self._stream.serve(context, caller())

    async def get_guidance(self, request: pb.GetGuidanceRequest, context: Context) -> bytes:
        call = self._unary.guide(caller().tenant, request, context.time_remaining())
        answer = await answered(context, call, self._log_fault)
        return _ANSWER_TAG + _length(answer) + answer

    async def report_outcome(
        self, request: pb.ReportOutcomeRequest, context: Context
    ) -> pb.ReportOutcomeResponse:
        return await answered(context, self._report(request), self._log_fault)

    async def list_providers(
        self, request: pb.ListProvidersRequest, context: Context
    ) -> pb.ListProvidersResponse:
        return await answered(context, self._list(request), self._log_fault)

    async def _report(self, request: pb.ReportOutcomeRequest) -> pb.ReportOutcomeResponse:
        check_agent(request.agent)
        owner = self._identity.hold(caller().tenant, request.agent)
        try:
            tally = self._reports.take(owner, request.outcomes)
        finally:
            self._identity.let_go(owner)
        return pb.ReportOutcomeResponse(
            accepted=tally.accepted, duplicates=tally.duplicates, unknown=tally.unknown
        )

    async def _list(self, request: pb.ListProvidersRequest) -> pb.ListProvidersResponse:
        catalogue = self._service.catalogue
        sources = catalogue.serving(request.task) if request.task else list(catalogue.sources.values())
        return pb.ListProvidersResponse(
            providers=[codec.provider_info_to_proto(source.info) for source in sources],
            states=[codec.provider_update_to_proto(self._providers.update(source)) for source in sources],
            config_generation=catalogue.generation,
        )


async def answered(context: Context, call: Awaitable[R], log_fault: Callable[[BaseException], None]) -> R:
    """The call's result; an error ends the RPC with its status, our own faults without their text."""
    try:
        return await call
    except BrokerError as error:
        failed: BrokerError = error
    except asyncio.CancelledError:
        raise
    except Exception as error:
        log_fault(error)
        failed = Internal("the broker failed")
    await abort(context, failed)
    raise AssertionError("abort does not return")


_ANSWER_TAG = bytes((pb.GetGuidanceResponse.DESCRIPTOR.fields_by_name["answer"].number << 3 | 2,))


def _length(data: bytes) -> bytes:
    value, out = len(data), bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
