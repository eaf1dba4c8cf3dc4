"""A broker of scripted sources in the test's own loop, on a real port, and the far end of one session."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from broker.app import Broker
from broker.config import load
from broker.routing.registry import ROUTE_SETTINGS
from broker.running.log import make_logger
from broker.testing import ScriptedProvider
from protos.guidance.v1 import guidance_pb2 as pb
from protos.guidance.v1.guidance_pb2_grpc import GuidanceServiceStub
from tests.broker.house import FREE_SOURCE, KINDS, ROUTE, TASK

LISTEN = """
[server]
address = "127.0.0.1:0"
admin_address = "127.0.0.1:0"
update_period_ms = 50
grace_ms = 2000
"""
TWO_TOKENS = """
[tenants.acme]
[[auth.tokens]]
name = "agents"
token = "env:AGENTS"
tenant = "acme"
roles = ["agent"]
[[auth.tokens]]
name = "operators"
token = "env:OPERATORS"
tenant = "acme"
roles = ["admin"]
"""
ENVIRON = {"AGENTS": "agents-secret", "OPERATORS": "operators-secret"}


class Wire:
    def __init__(self, broker: Broker, file: Path, target: str, channel: grpc.aio.Channel) -> None:
        self.broker = broker
        self.file = file
        self.target = target
        self.channel = channel
        self.stub = GuidanceServiceStub(channel)

    def source(self, name: str = "source") -> ScriptedProvider:
        provider = self.broker.reloader.current.providers[name]
        assert isinstance(provider, ScriptedProvider)
        return provider

    def rewrite(self, text: str) -> None:
        """Put another configuration where the broker reads it."""
        self.file.write_text(LISTEN + text)

    async def session(self, agent: str = "agent", token: str = "", **hello: Any) -> Stream:
        stream = Stream(self.stub.Session(metadata=bearer(token), timeout=60))
        await stream.send(hello=a_hello(agent, **hello))
        return stream


class Stream:
    """The far end of a session. `heard` is every message so far."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.heard: list[pb.SessionResponse] = []

    async def send(self, **parts: Any) -> None:
        await self.call.write(pb.SessionRequest(**parts))

    async def until(self, found: Callable[[pb.SessionResponse], Any]) -> pb.SessionResponse:
        """Read until a message has what is looked for; raises EOFError where the stream ends before."""
        while True:
            message = await self.call.read()
            if not isinstance(message, pb.SessionResponse):
                raise EOFError
            self.heard.append(message)
            if found(message):
                return message

    async def answer(self) -> pb.AnswerBatch:
        return (await self.until(lambda message: message.answers)).answers[0]

    async def failure(self) -> pb.Failure:
        return (await self.until(lambda message: message.failures)).failures[0]

    async def end(self) -> tuple[grpc.StatusCode, str]:
        """How the stream ended: status and documented reason."""
        with contextlib.suppress(grpc.aio.AioRpcError):
            while isinstance(message := await self.call.read(), pb.SessionResponse):
                self.heard.append(message)
        return await self.call.code(), reason_in(await self.call.trailing_metadata())


@asynccontextmanager
async def wire(folder: Path, text: str = ROUTE + FREE_SOURCE, environ: Any = None) -> AsyncIterator[Wire]:
    file = folder / "broker.toml"
    file.write_text(LISTEN + text)
    settings = {name: kind.settings for name, kind in KINDS.items()}
    config = load(file, settings, ROUTE_SETTINGS, environ or {})
    broker = Broker(file, config, environ or {}, logger=make_logger("error", io.StringIO()), kinds=KINDS)
    port = await broker.start()
    try:
        target = f"127.0.0.1:{port}"
        async with grpc.aio.insecure_channel(target) as channel:
            yield Wire(broker, file, target, channel)
    finally:
        await broker.stop()


async def eventually(holds: Callable[[], Any], within_s: float = 10.0) -> None:
    """Look until it is so; TimeoutError if it never is."""
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110 (what is looked at has no event to wait for)
            await asyncio.sleep(0.005)


def a_hello(agent: str = "agent", lanes: int = 1, task: str = TASK, version: int = 1) -> pb.Hello:
    return pb.Hello(
        protocol_version=version,
        agent=agent,
        task=task,
        observations=[pb.TensorSpec(name="obs", dtype=pb.DATA_TYPE_FLOAT32, shape=[2])],
        action=pb.ActionSpec(box=pb.BoxSpace(shape=[1], low=[-1.0], high=[1.0])),
        lanes=[pb.LaneSpec(lane=lane, period_us=50_000) for lane in range(lanes)],
    )


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),) if token else ()


def reason_in(trailing: Any) -> str:
    """The reason of the ErrorInfo in a call's trailing metadata; empty where there is none."""
    for key, value in trailing or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                info = error_details_pb2.ErrorInfo()
                if detail.Unpack(info):
                    assert info.domain == "guidance.v1"
                    return info.reason
    return ""
