"""A remote source over real gRPC on a free port, scripted, with its own log of what reached it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc
import grpc.aio
import numpy as np

from protos import codec
from protos.guidance.v1 import guidance_pb2, provider_pb2, provider_pb2_grpc
from protos.types import ActionAdvice

OK = provider_pb2.GUIDE_OUTCOME_OK


def a_description(**changes) -> guidance_pb2.ProviderInfo:
    told = {"provider_id": "theirs", "guidance_kinds": [guidance_pb2.GUIDANCE_KIND_ACTION], "leasable": True}
    return guidance_pb2.ProviderInfo(**told | changes)


def an_answer(rows=1, actions=3, value=0.5, **changes) -> provider_pb2.GuideResponse:
    guidance = codec.guidance_to_proto(ActionAdvice(np.full((rows, actions), value, np.float32)))
    return provider_pb2.GuideResponse(**{"outcome": OK, "guidance": guidance} | changes)


@dataclass
class Remote(provider_pb2_grpc.ProviderServiceServicer):
    """``reply``: a response, a status to abort with, or None: no reply at all."""

    description: guidance_pb2.ProviderInfo = field(default_factory=a_description)
    reply: provider_pb2.GuideResponse | grpc.StatusCode | None = field(default_factory=an_answer)
    trailers: tuple = ()
    requests: list = field(default_factory=list)
    metadata: list = field(default_factory=list)
    time_left_s: list = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0

    async def Describe(self, request, context):
        return provider_pb2.DescribeResponse(info=self.description)

    async def Guide(self, request, context):
        self.requests.append(request)
        self.asked.set()
        self.metadata.append(dict(context.invocation_metadata()))
        self.time_left_s.append(context.time_remaining())
        context.set_trailing_metadata(self.trailers)
        if self.reply is None:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        if isinstance(self.reply, grpc.StatusCode):
            await context.abort(self.reply, "internal text")
        return self.reply


@asynccontextmanager
async def serving(remote: Remote, credentials: grpc.ServerCredentials | None = None):
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    provider_pb2_grpc.add_ProviderServiceServicer_to_server(remote, server)
    address = f"127.0.0.1:{remote.port}"
    add = server.add_insecure_port
    remote.port = add(address) if credentials is None else server.add_secure_port(address, credentials)
    await server.start()
    try:
        yield remote
    finally:
        await server.stop(0)
