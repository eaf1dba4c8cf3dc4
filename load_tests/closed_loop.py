"""Closed-loop drivers: keep so many asks in flight for so long, and count what came back and when.

They use the generated stubs and not the client library, so that the echo and the broker are driven by the
same few lines. Latencies are in microseconds from the write of the message to the arrival of its answer.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import grpc
import numpy as np

from load_tests.messages import Shape, ask_batch, hello
from protos.guidance.v1 import guidance_pb2 as pb
from protos.guidance.v1 import guidance_pb2_grpc as rpc


@dataclass(frozen=True)
class Run:
    """What one drive saw. ``latencies_us`` has one entry a message."""

    messages: int
    rows: int
    failures: int
    seconds: float
    latencies_us: np.ndarray

    @property
    def messages_per_s(self) -> float:
        return self.messages / self.seconds

    @property
    def rows_per_s(self) -> float:
        return self.rows / self.seconds

    def quantile_us(self, q: float) -> float:
        return float(np.quantile(self.latencies_us, q))


class LoadFailed(RuntimeError):
    """The server refused the load; a figure from such a run would mean nothing."""


async def drive_session(
    address: str, shape: Shape, in_flight: int, seconds: float, token: str, provider_id: str
) -> Run:
    """Messages of ``shape.rows`` rows over one session, ``in_flight`` of them at a time."""
    async with grpc.aio.insecure_channel(address, options=CHANNEL) as channel:
        stub = rpc.GuidanceServiceStub(channel)
        call = stub.Session(metadata=credentials(token))
        await call.write(pb.SessionRequest(hello=hello(shape)))
        await call.read()
        # the write loop never waits for answers by itself: a semaphore is the only brake
        free = asyncio.Semaphore(in_flight)
        sent: dict[int, float] = {}
        latencies: list[float] = []
        rows = failures = 0
        started = time.perf_counter()

        async def write() -> None:
            number = 0
            while time.perf_counter() - started < seconds:
                await free.acquire()
                number += 1
                message = pb.SessionRequest(asks=[ask_batch(shape, number, provider_id)])
                sent[message.asks[0].ask_id[0]] = time.perf_counter()
                await call.write(message)

        writer = asyncio.create_task(write())
        while not (writer.done() and not sent):
            response = await asyncio.wait_for(call.read(), 10.0)
            if response is grpc.aio.EOF:
                raise LoadFailed(f"the session ended: {await call.code()} {await call.details()}")
            now = time.perf_counter()
            for answer in response.answers:
                for ask_id in answer.ask_id:
                    begun = sent.pop(ask_id, None)
                    if begun is not None:
                        latencies.append((now - begun) * 1e6)
                        free.release()
                rows += len(answer.ask_id)
            for failure in response.failures:
                failures += 1
                if sent.pop(failure.ask_id, None) is not None:
                    free.release()
        elapsed = time.perf_counter() - started
        await writer
        await call.done_writing()
    return finished(latencies, rows, failures, elapsed)


async def drive_unary(
    address: str, shape: Shape, in_flight: int, seconds: float, token: str, provider_id: str
) -> Run:
    """Unary asks of one row, ``in_flight`` callers in a loop each."""
    latencies: list[float] = []
    async with grpc.aio.insecure_channel(address, options=CHANNEL) as channel:
        stub = rpc.GuidanceServiceStub(channel)
        started = time.perf_counter()

        async def caller(index: int) -> None:
            number = index
            while (begun := time.perf_counter()) - started < seconds:
                number += in_flight
                ask = ask_batch(shape, number, provider_id)
                request = pb.GetGuidanceRequest(agent="load", task=shape.task, ask=ask)
                await stub.GetGuidance(request, timeout=10.0, metadata=credentials(token))
                latencies.append((time.perf_counter() - begun) * 1e6)

        await asyncio.gather(*(caller(index) for index in range(in_flight)))
        elapsed = time.perf_counter() - started
    return finished(latencies, len(latencies), 0, elapsed)


CHANNEL = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


def credentials(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


def finished(latencies: list[float], rows: int, failures: int, seconds: float) -> Run:
    if failures:
        raise LoadFailed(f"{failures} asks failed")
    return Run(len(latencies), rows, failures, seconds, np.asarray(latencies))
