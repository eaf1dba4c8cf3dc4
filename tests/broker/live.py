"""A real broker in the test's own loop, and one caller of its unary RPC."""

import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import httpx
import numpy as np

from broker.app import Broker
from broker.config import load
from broker.providers.registry import PROVIDER_SETTINGS
from broker.routing.registry import ROUTE_SETTINGS
from broker.running.log import make_logger
from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from protos.guidance.v1.guidance_pb2_grpc import GuidanceServiceStub
from protos.types import AskOptions, Query

OBSERVATION = np.array([0.5], np.float32)
LISTEN = """
[server]
address = "127.0.0.1:0"
admin_address = "127.0.0.1:0"
"""


@dataclass
class Running:
    broker: Broker
    file: Path
    channel: grpc.aio.Channel
    log: io.StringIO

    async def page(self, path: str, token: str = "") -> httpx.Response:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        async with httpx.AsyncClient(trust_env=False) as http:
            return await http.get(f"http://127.0.0.1:{self.broker.admin_port}{path}", headers=headers)


@asynccontextmanager
async def running(text: str, folder: Path, environ: Mapping[str, str]) -> AsyncIterator[Running]:
    """Serve `LISTEN` and `text` from a file in `folder`, logging everything into memory."""
    file = folder / "broker.toml"
    file.write_text(LISTEN + text)
    config = load(file, PROVIDER_SETTINGS, ROUTE_SETTINGS, environ)
    log = io.StringIO()
    broker = Broker(file, config, environ, logger=make_logger("debug", log))
    port = await broker.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Running(broker, file, channel, log)
    finally:
        await broker.stop()


class Caller:
    """Asks one row at a time."""

    def __init__(self, channel: grpc.aio.Channel, token: str = "") -> None:
        self._stub = GuidanceServiceStub(channel)
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._next_id = 0

    async def ask(
        self,
        task: str,
        observation: np.ndarray = OBSERVATION,
        options: AskOptions | None = None,
        agent: str = "caller",
    ) -> pb.AnswerBatch:
        """Raises grpc.aio.AioRpcError as any client would see it."""
        self._next_id += 1
        options = options or AskOptions(final_by_ms=5000)
        query = Query(options, [0], [self._next_id], [0], [0], {"observation": observation[np.newaxis]})
        request = pb.GetGuidanceRequest(agent=agent, task=task, ask=codec.query_to_proto(query))
        response = await self._stub.GetGuidance(request, metadata=self._metadata, timeout=60)
        return response.answer
