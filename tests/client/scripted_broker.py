"""A broker whose every word is written by the test: the generated servicer, and one queue of messages a
session.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
import numpy as np
from grpc import aio

from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from protos.guidance.v1 import guidance_pb2_grpc as rpc
from protos.types import (
    ActionAdvice,
    Answer,
    AnswerKind,
    BoxAction,
    GuidanceKind,
    LaneSpec,
    Limits,
    Price,
    ProviderInfo,
    ProviderKind,
    TensorSpec,
    Welcome,
)

WAIT_S = 20.0
OBSERVATION = TensorSpec("observation", np.dtype("float64"), (3,))
ACTION = BoxAction((2,), (-1.0, -1.0), (1.0, 1.0))
STRONG = ProviderInfo(
    "strong",
    ProviderKind.POLICY,
    frozenset({GuidanceKind.ACTION}),
    Price(usd_per_leased_step=0.001),
    leasable=True,
)


def lanes(count: int, **changes: Any) -> tuple[LaneSpec, ...]:
    return tuple(LaneSpec(number, 8_000, **changes) for number in range(count))


def answer_to(batch: pb.AskBatch | pb.LeaseRows, value: float = 0.5, **changes: Any) -> Answer:
    """A FINAL answer to every row, its action `[value, value]`."""
    rows = len(batch.ask_id)
    leased = isinstance(batch, pb.LeaseRows) or batch.options.hold_steps > 0
    fields: dict[str, Any] = {
        "kind": AnswerKind.FINAL,
        "provider_ids": ("strong",),
        "lanes": list(batch.lane),
        "ask_ids": list(batch.ask_id),
        "episodes": list(batch.episode) if isinstance(batch, pb.AskBatch) else [1] * rows,
        "steps": list(batch.step),
        "guidance": ActionAdvice(np.full((rows, 2), value, np.float32)),
        "prices_usd": [0.001] * rows,
        "leased": leased,
    }
    return Answer(**{**fields, **changes})


Word = pb.SessionResponse | tuple[grpc.StatusCode, str] | None
"""A message, a status that ends the stream, or its clean end."""


@dataclass(eq=False)
class ScriptedSession:
    """One stream: what the client sent, and the way to answer it."""

    generation: int
    metadata: dict[str, str | bytes]
    received: list[pb.SessionRequest] = field(default_factory=list)
    out: asyncio.Queue[Word] = field(default_factory=asyncio.Queue)
    steps_left: dict[int, int] = field(default_factory=dict)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    def send(self, message: pb.SessionResponse) -> None:
        self.out.put_nowait(message)

    def answer(self, *answers: Answer, credits: int = 0) -> None:
        messages = [codec.answer_to_proto(answer) for answer in answers]
        for message in messages:
            message.session_generation = message.session_generation or self.generation
        self.send(pb.SessionResponse(answers=messages, credits_returned=credits))

    def end(self, code: grpc.StatusCode, details: str) -> None:
        self.out.put_nowait((code, details))

    async def until(self, holds: Callable[[ScriptedSession], bool]) -> None:
        async with asyncio.timeout(WAIT_S), self.arrived:
            await self.arrived.wait_for(lambda: holds(self))

    async def asked(self, count: int = 1) -> list[pb.AskBatch]:
        """All batches, once `count` of them are here."""
        await self.until(lambda session: len(session.asks) >= count)
        return self.asks

    async def messages(self, count: int) -> list[pb.SessionRequest]:
        """The first `count` messages after hello."""
        await self.until(lambda session: len(session.received) >= count)
        return self.received[:count]

    @property
    def asks(self) -> list[pb.AskBatch]:
        return [batch for message in self.received for batch in message.asks]

    @property
    def lease_rows(self) -> list[pb.LeaseRows]:
        return [rows for message in self.received for rows in message.lease_rows]


class ScriptedBroker(rpc.GuidanceServiceServicer):
    """`on_message(session, message)` reacts to what comes in; by default every row is answered at once."""

    def __init__(self, credits: int = 64, keepalive_ms: int = 20_000) -> None:
        self.port = 0
        self.credits = credits
        self.keepalive_ms = keepalive_ms
        self.max_rows = 1024
        self.sessions: list[ScriptedSession] = []
        self.refuse: tuple[grpc.StatusCode, str] | None = None
        self.on_message: Callable[[ScriptedSession, pb.SessionRequest], None] = answer_all
        self.first_words = pb.SessionResponse()
        self.providers = (STRONG,)
        self.unary: list[pb.GetGuidanceRequest] = []
        self.unary_failures: list[grpc.StatusCode] = []
        self._opened = asyncio.Event()
        self._server: aio.Server | None = None

    async def start(self, port: int = 0, credentials: grpc.ServerCredentials | None = None) -> None:
        self._server = aio.server(options=[("grpc.so_reuseport", 0)])
        rpc.add_GuidanceServiceServicer_to_server(self, self._server)
        address = f"127.0.0.1:{port}"
        if credentials is None:
            self.port = self._server.add_insecure_port(address)
        else:
            self.port = self._server.add_secure_port(address, credentials)
        await self._server.start()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(None)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def session(self, number: int = 0) -> ScriptedSession:
        """The n-th session that was opened, once it is."""
        async with asyncio.timeout(WAIT_S):
            while len(self.sessions) <= number:
                self._opened.clear()
                await self._opened.wait()
        return self.sessions[number]

    async def Session(
        self, requests: AsyncIterator[pb.SessionRequest], context: aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[pb.SessionResponse]:
        await anext(requests)
        if self.refuse is not None:
            await context.abort(*self.refuse)
        metadata = dict(context.invocation_metadata() or ())
        session = ScriptedSession(len(self.sessions) + 1, metadata)
        self.sessions.append(session)
        self._opened.set()
        reader = asyncio.create_task(self._read(session, requests))
        try:
            yield self._welcome(session)
            while True:
                word = await session.out.get()
                if word is None:
                    return
                if isinstance(word, tuple):
                    await context.abort(*word)
                yield word
        finally:
            reader.cancel()

    async def GetGuidance(
        self, request: pb.GetGuidanceRequest, context: aio.ServicerContext[Any, Any]
    ) -> pb.GetGuidanceResponse:
        self.unary.append(request)
        if self.unary_failures:
            await context.abort(self.unary_failures.pop(0), "scripted")
        return pb.GetGuidanceResponse(answer=codec.answer_to_proto(answer_to(request.ask)))

    async def _read(self, session: ScriptedSession, requests: AsyncIterator[pb.SessionRequest]) -> None:
        async for message in requests:
            async with session.arrived:
                session.received.append(message)
                self.on_message(session, message)
                session.arrived.notify_all()
        session.out.put_nowait(None)  # the client has said all it wants to say

    def _welcome(self, session: ScriptedSession) -> pb.SessionResponse:
        limits = Limits(self.max_rows, 4_194_304, 100, self.keepalive_ms)
        welcome = Welcome(session.generation, "scripted", 1, self.providers, self.credits, limits)
        first = pb.SessionResponse()
        first.CopyFrom(self.first_words)
        first.welcome.CopyFrom(codec.welcome_to_proto(welcome))
        return first


def answer_all(session: ScriptedSession, message: pb.SessionRequest) -> None:
    """Every row at once. An ask's credit comes back when it ends: a lease's with its last step."""
    for asked in message.asks:
        steps = max(asked.options.hold_steps, 1)
        session.steps_left.update(dict.fromkeys(asked.ask_id, steps))
    for batch in [*message.asks, *message.lease_rows]:
        for ask_id in batch.ask_id:
            session.steps_left[ask_id] -= 1
        session.answer(answer_to(batch), credits=[session.steps_left[one] for one in batch.ask_id].count(0))


def silent(session: ScriptedSession, message: pb.SessionRequest) -> None:
    """Take everything in and say nothing."""


async def main() -> None:
    """A broker in a process of its own: prints its address, and lives until it is ended."""
    broker = ScriptedBroker()
    await broker.start()
    print(broker.address, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
