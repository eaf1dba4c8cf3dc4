"""A session on its gRPC stream: one task reads, one writes, and either's end is the session's."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc

from broker.asks.failures import from_contract
from broker.auth import Grant
from broker.errors import BrokerError, DeadlineReached, Internal, InvalidRequest
from broker.sessions.outbox import Outbox
from broker.sessions.table import OpenSession, SessionTable
from broker.wire.status import abort
from protos import codec
from protos.codec import ContractError
from protos.guidance.v1 import guidance_pb2 as pb

HELLO_TIMEOUT_S = 10.0
LAST_WORDS_S = 2.0
MAX_WAITING_BYTES = 8_388_608  # past so much unread output nothing more is read from a client

Context = grpc.aio.ServicerContext[Any, Any]


class SessionStream:
    """Serves the Session RPC. ``log_fault`` is told of an exception that is our own fault."""

    def __init__(self, table: SessionTable, log_fault: Any) -> None:
        self._table = table
        self._log_fault = log_fault

    async def serve(self, context: Context, grant: Grant) -> None:
        try:
            opened = await self._open(context, grant)
        except BrokerError as error:
            await abort(context, error)
            return
        try:
            await self._run(context, opened)
        finally:
            self._table.close(opened, "client_left")
        if opened.ended_by is not None:
            await abort(context, opened.ended_by)

    async def _open(self, context: Context, grant: Grant) -> OpenSession:
        try:
            async with asyncio.timeout(HELLO_TIMEOUT_S):
                first = await context.read()
        except TimeoutError:
            raise DeadlineReached("hello: did not come", "NO_HELLO", "hello") from None
        if not isinstance(first, pb.SessionRequest) or not first.HasField("hello"):
            raise InvalidRequest("hello: must be in the first message", "NO_HELLO", "hello")
        try:
            hello = codec.hello_from_proto(first.hello)
        except ContractError as error:
            raise from_contract(error) from None
        opened = self._table.open(grant, hello)
        welcome = pb.SessionResponse(welcome=codec.welcome_to_proto(self._table.welcome(opened)))
        await context.write(welcome.SerializeToString())
        first.ClearField("hello")
        opened.session.receive(first)
        return opened

    async def _run(self, context: Context, opened: OpenSession) -> None:
        """Returns when the client has left, or when the session has ended and all of it is written.

        Who was sent away and does not read what is still to be said is not waited for.
        """
        reader = asyncio.create_task(self._read(context, opened))
        writer = asyncio.create_task(_write(context, opened.session.outbox))
        over = asyncio.create_task(opened.over.wait())
        try:
            await asyncio.wait({writer, over}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({writer}, timeout=LAST_WORDS_S if opened.ended_by else None)
        finally:
            for task in (reader, writer, over):
                task.cancel()
            await asyncio.gather(reader, writer, over, return_exceptions=True)
            opened.session.outbox.forget()  # gRPC may hold this call as long as the client does not read

    async def _read(self, context: Context, opened: OpenSession) -> None:
        session, outbox = opened.session, opened.session.outbox
        try:
            while not session.closed:
                request = await context.read()
                if not isinstance(request, pb.SessionRequest):  # the client has said all it wants to say
                    await session.finished()
                    self._table.close(opened, "client_left")
                    return
                session.receive(request)
                if outbox.bytes_waiting > MAX_WAITING_BYTES:
                    await outbox.drained(MAX_WAITING_BYTES // 2)
        except BrokerError as error:
            self._table.close(opened, "protocol", error)
        except Exception as error:
            self._log_fault(error)
            self._table.close(opened, "internal", Internal("the broker failed"))


async def _write(context: Context, outbox: Outbox) -> None:
    while await outbox.ready():
        await context.write(outbox.take())
