"""The operator's service: reload, drain, explain, flush, ledger, push, sessions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import grpc

from broker.asks.failures import from_contract
from broker.cache.interface import AnswerCache
from broker.errors import InvalidRequest
from broker.ledger import Ledger
from broker.routing.interface import Candidate, Step
from broker.running.reloading import Reloader
from broker.service import Service
from broker.sessions.outbox import Outbox
from broker.sessions.provider_updates import ProviderTable
from broker.sessions.table import OpenSession, SessionTable
from broker.setup.catalogue import Source
from broker.wire.guidance import answered
from protos import codec
from protos.codec import ContractError
from protos.guidance.v1 import admin_pb2 as pb
from protos.guidance.v1.admin_pb2_grpc import AdminServiceServicer

Context = grpc.aio.ServicerContext[Any, Any]


class AdminServicer(AdminServiceServicer):
    """Authentication has let only operators through."""

    def __init__(
        self,
        service: Service,
        sessions: SessionTable,
        reloader: Reloader,
        cache: AnswerCache,
        ledger: Ledger,
        observe: Callable[[Source], Candidate],
        providers: ProviderTable,
        log_fault: Callable[[BaseException], None],
    ) -> None:
        self._service = service
        self._sessions = sessions
        self._reloader = reloader
        self._cache = cache
        self._ledger = ledger
        self._observe = observe
        self._providers = providers
        self._log_fault = log_fault
        self._versions = itertools.count(1)

    async def Reload(self, request: pb.ReloadRequest, context: Context) -> pb.ReloadResponse:
        changes = await answered(context, self._reloader.reload(), self._log_fault)
        return pb.ReloadResponse(
            config_generation=changes.generation,
            added=changes.added,
            removed=changes.removed,
            changed=changes.changed,
        )

    async def DrainProvider(
        self, request: pb.DrainProviderRequest, context: Context
    ) -> pb.DrainProviderResponse:
        return await answered(context, self._drain(request), self._log_fault)

    async def ExplainRoute(
        self, request: pb.ExplainRouteRequest, context: Context
    ) -> pb.ExplainRouteResponse:
        return await answered(context, self._explain(request), self._log_fault)

    async def Flush(self, request: pb.FlushRequest, context: Context) -> pb.FlushResponse:
        return pb.FlushResponse(entries=self._cache.flush(request.tenant, request.task, request.provider_id))

    async def Ledger(self, request: pb.LedgerRequest, context: Context) -> pb.LedgerResponse:
        lines = [
            pb.LedgerLine(
                tenant=line.tenant,
                provider_id=line.provider_id,
                charges=line.charges,
                charged_usd=line.charged_usd,
                reserved_usd=line.reserved_usd,
                saved_usd=line.saved_usd,
                budget_usd=line.budget_usd or 0.0,
            )
            for line in self._ledger.summary(request.tenant)
        ]
        return pb.LedgerResponse(lines=lines)

    async def Push(self, request: pb.PushRequest, context: Context) -> pb.PushResponse:
        return await answered(context, self._push(request), self._log_fault)

    async def ListSessions(
        self, request: pb.ListSessionsRequest, context: Context
    ) -> pb.ListSessionsResponse:
        return pb.ListSessionsResponse(sessions=[_state(opened) for opened in self._sessions])

    async def _drain(self, request: pb.DrainProviderRequest) -> pb.DrainProviderResponse:
        source = self._service.catalogue.sources.get(request.provider_id)
        if source is None:
            raise InvalidRequest("provider_id: is not configured", "UNKNOWN_PROVIDER", "provider_id")
        source.draining = not request.undo
        self._providers.push_changes()
        return pb.DrainProviderResponse(in_flight=self._observe(source).in_flight)

    async def _explain(self, request: pb.ExplainRouteRequest) -> pb.ExplainRouteResponse:
        try:
            options = codec.options_from_proto(request.query.ask.options)
        except ContractError as error:
            raise from_contract(error) from None
        catalogue = self._service.catalogue
        left_s = catalogue.final_cap_ms(request.query.task, options) / 1000
        plan = catalogue.plan(request.query.task, options, left_s)
        steps = list(plan.attempts)
        if plan.fallback:
            steps.append(Step(plan.fallback, 0.0, "the fallback"))
        return pb.ExplainRouteResponse(
            strategy=plan.strategy,
            plan=[_explained(step) for step in steps],
            excluded=[_explained(step) for step in plan.excluded],
        )

    async def _push(self, request: pb.PushRequest) -> pb.PushResponse:
        send = self._pushing(request)
        reached = [opened for opened in self._sessions if _addressed(request, opened)]
        for opened in reached:
            send(opened.session.outbox)
        return pb.PushResponse(sessions=len(reached))

    def _pushing(self, request: pb.PushRequest) -> Callable[[Outbox], None]:
        """What is done to each session's outbox. A stop and constraints give way to nothing."""
        try:
            if request.HasField("constraints"):
                constraints = codec.constraints_from_proto(request.constraints)
                version = constraints.version or next(self._versions)
                sent = replace(constraints, version=version, source=constraints.source or "operator")
                data = codec.constraints_to_proto(sent).SerializeToString()
                return lambda outbox: outbox.constraints(data)
            if request.HasField("push"):
                push = codec.operator_push_from_proto(request.push)
                data = codec.operator_push_to_proto(push).SerializeToString()
                if push.stop is not None:
                    return lambda outbox: outbox.stop(data)
                about = f"push to {sorted(push.lanes)}"
                return lambda outbox: outbox.push(about, data)
        except ContractError as error:
            raise from_contract(error) from None
        raise InvalidRequest("what: give a push or constraints", "MISSING_FIELD", "what")


def _addressed(request: pb.PushRequest, opened: OpenSession) -> bool:
    return request.tenant in ("", opened.grant.tenant) and request.agent in ("", opened.hello.agent)


def _explained(step: Step) -> pb.ExplainedStep:
    return pb.ExplainedStep(provider_id=step.provider_id, score=step.score, why=step.why)


def _state(opened: OpenSession) -> pb.SessionState:
    session = opened.session
    return pb.SessionState(
        tenant=opened.grant.tenant,
        agent=opened.hello.agent,
        task=opened.hello.task,
        session_generation=session.terms.generation,
        lanes=len(session.lanes),
        in_flight=session.in_flight,
        queued_out=len(session.outbox),
    )
