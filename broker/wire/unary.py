"""One row, one reply: an asking whose sink is a call that waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from broker.asks.admission import Admission
from broker.asks.asking import Asking, Caller
from broker.asks.failures import from_contract
from broker.asks.identity import IdentityTable, bodies_of, check_agent
from broker.clock import Clock
from broker.errors import BrokerError, InvalidRequest
from broker.events import AskEnded, AskReceived, Event, InvalidInput
from broker.leases.lease import Lease
from broker.service import Service
from broker.sessions.schema import Schema
from protos import codec
from protos.codec import ContractError
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import Answer, Query


class _Reply:
    """A :class:`broker.asks.asking.Sink` for one row."""

    def __init__(self) -> None:
        self.data: bytes | None = None
        self.error: BrokerError | None = None
        self.over = False
        self._waiter: asyncio.Future[None] | None = None

    async def wait(self) -> None:
        if not self.over:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def wanted(self, asking: Asking, rows: Sequence[int]) -> Sequence[int]:
        return rows

    def answer(self, asking: Asking, answer: Answer) -> bytes:
        self.data = codec.answer_to_proto(answer).SerializeToString()
        return self.data

    def fail(self, asking: Asking, rows: Sequence[int], error: BrokerError) -> None:
        self.error = error

    def ended(self, asking: Asking, rows: int) -> None:
        self.over = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def lease(self, asking: Asking, lease: Lease) -> None:
        raise AssertionError("a unary call is granted no lease")

    def lease_ended(self, lease: Lease) -> None:
        raise AssertionError("a unary call holds no lease")

    def idle_s(self, lane: int) -> float:
        raise AssertionError("a unary call holds no lease")


@dataclass(frozen=True, slots=True)
class UnaryCalls:
    """Answers GetGuidance. Every call is one ask received and one ask ended."""

    service: Service
    identity: IdentityTable
    admission: Admission
    clock: Clock
    emit: Callable[[Event], None]

    async def guide(self, tenant: str, request: pb.GetGuidanceRequest, time_left_s: float | None) -> bytes:
        """The serialised AnswerBatch. Raises BrokerError; being cancelled withdraws the ask."""
        received_at = self.clock.now()
        task = self.service.catalogue.label(request.task)
        self.emit(AskReceived(tenant, task))
        try:
            query = self._query(request)
        except BrokerError as error:
            if isinstance(error, InvalidRequest):
                self.emit(InvalidInput(error.reason_or_default))
            self.emit(AskEnded(tenant, task, error.outcome, "", self.clock.now() - received_at))
            raise
        owner = self.identity.hold(tenant, request.agent)
        try:
            caller = Caller(tenant, request.agent, request.task, owner)
            reply = _Reply()
            asking = Asking(
                caller, query, bodies_of(query), received_at, reply, unary=True, time_left_s=time_left_s
            )
            return await self._answered(asking, reply)
        finally:
            self.identity.let_go(owner)

    async def _answered(self, asking: Asking, reply: _Reply) -> bytes:
        self.service.ask(asking)
        try:
            await reply.wait()
        except asyncio.CancelledError:
            self.service.withdraw(asking)
            raise
        if reply.error is not None:
            raise reply.error
        assert reply.data is not None
        return reply.data

    def _query(self, request: pb.GetGuidanceRequest) -> Query:
        refusal = self.admission.refusal()
        if refusal is not None:
            raise refusal
        check_agent(request.agent)
        folder = self.service.catalogue.route(request.task).folder
        try:
            query = codec.query_from_proto(request.ask, max_rows=1)
        except ContractError as error:
            raise from_contract(error) from None
        if folder is not None:
            Schema(folder.observations).check_observations(query.observations)
        if query.options.hold_steps:
            message = "options.hold_steps: a lease needs a Session"
            raise InvalidRequest(message, "LEASE_NEEDS_SESSION", "options.hold_steps")
        return query
