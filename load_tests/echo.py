"""The ceiling: a bare gRPC server that parses the same messages, does nothing, and sends as much back.

Run as ``python -m load_tests.echo ADDRESS``. What a broker adds is the distance to this.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from typing import Any

import grpc

from protos.guidance.v1 import guidance_pb2 as pb
from protos.guidance.v1 import guidance_pb2_grpc as rpc


def reply_to(ask: pb.AskBatch, action: pb.Guidance) -> pb.AnswerBatch:
    """An answer as large as the broker's own for these rows, without a thought behind it."""
    rows = len(ask.ask_id)
    answer = pb.AnswerBatch(
        kind=pb.ANSWER_KIND_FINAL,
        provider_ids=["echo"],
        session_generation=1,
        lane=ask.lane,
        ask_id=ask.ask_id,
        episode=ask.episode,
        step=ask.step,
        lane_generation=ask.lane_generation,
        price_usd=[0.0] * rows,
        seq=ask.step,
        guidance=action,
        ended=True,
        attempts=1,
    )
    answer.timing.broker_us = 1
    return answer


def action_for(rows: int, size: int) -> pb.Guidance:
    tensor = pb.Tensor(dtype=pb.DATA_TYPE_FLOAT32, shape=[rows, size], data=bytes(4 * rows * size))
    return pb.Guidance(action=pb.ActionAdvice(continuous=tensor))


class Echo(rpc.GuidanceServiceServicer):
    """Answers every ask of every message at once. Remembers one prepared action per batch size."""

    def __init__(self, action_size: int) -> None:
        self._size = action_size
        self._actions: dict[int, pb.Guidance] = {}

    def _answer(self, ask: pb.AskBatch) -> pb.AnswerBatch:
        rows = len(ask.ask_id)
        if rows not in self._actions:
            self._actions[rows] = action_for(rows, self._size)
        return reply_to(ask, self._actions[rows])

    async def GetGuidance(self, request: pb.GetGuidanceRequest, context: Any) -> pb.GetGuidanceResponse:
        return pb.GetGuidanceResponse(answer=self._answer(request.ask))

    async def Session(  # type: ignore[override]
        self, request_iterator: AsyncIterator[pb.SessionRequest], context: Any
    ) -> AsyncIterator[pb.SessionResponse]:
        async for request in request_iterator:
            if request.HasField("hello"):
                yield pb.SessionResponse(welcome=pb.Welcome(credits=4096))
            for ask in request.asks:
                yield pb.SessionResponse(answers=[self._answer(ask)], credits_returned=len(ask.ask_id))


async def serve(address: str, action_size: int) -> None:
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    rpc.add_GuidanceServiceServicer_to_server(Echo(action_size), server)
    server.add_insecure_port(address)
    await server.start()
    await server.wait_for_termination()


def main() -> None:
    try:
        import uvloop

        run = uvloop.run
    except ImportError:
        run = asyncio.run
    with contextlib.suppress(KeyboardInterrupt):
        run(serve(sys.argv[1], int(sys.argv[2])))


if __name__ == "__main__":
    main()
