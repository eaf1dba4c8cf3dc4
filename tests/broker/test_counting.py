"""A thousand asks of every fate through a real broker: what it counts is what its callers saw."""

import asyncio
import collections

import grpc
import httpx
import numpy as np
import pytest

from broker.app import Broker
from broker.config import parse
from broker.providers.registry import PROVIDER_SETTINGS
from broker.routing.registry import ROUTE_SETTINGS
from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from protos.guidance.v1.guidance_pb2_grpc import GuidanceServiceStub
from protos.types import AskOptions, Query
from tests.broker.metrics.test_counts import scraped

TEXT = """
[server]
address = "127.0.0.1:0"
admin_address = "127.0.0.1:0"

[log]
level = "error"

[limits]
extra_attempts_share = 1.0

[tenants.acme]
[[auth.tokens]]
name = "agents"
token = "env:AGENT"
tenant = "acme"
roles = ["agent", "metrics"]

[[providers]]
id = "quick"
kind = "simulated"
answer = [0.0]

[[providers]]
id = "slow"
kind = "simulated"
answer = [0.0]
latency = { distribution = "constant", value_ms = 60000.0 }
timeout_ms = 60000
max_concurrency = 1000

[[providers]]
id = "silent"
kind = "simulated"
answer = [0.0]
degradation = { kind = "dead" }
timeout_ms = 60000
final_cap_ms = 60000
max_concurrency = 1000

[[providers]]
id = "failing"
kind = "simulated"
answer = [0.0]
error_rate = 1.0

[tasks.quick.route]
strategy = "fixed"
providers = ["quick"]

[tasks.slow.route]
strategy = "fixed"
providers = ["slow"]

[tasks.silent.route]
strategy = "fixed"
providers = ["silent"]

[tasks.failing.route]
strategy = "fixed"
providers = ["failing"]
fallback = "quick"
"""
ENVIRON = {"AGENT": "agent-secret"}
TOKEN = (("authorization", "Bearer agent-secret"),)


@pytest.fixture
async def broker(tmp_path):
    config = parse(TEXT, PROVIDER_SETTINGS, ROUTE_SETTINGS, ENVIRON)
    broker = Broker(tmp_path / "broker.toml", config, ENVIRON)
    broker.port = await broker.start()
    yield broker
    await broker.stop()


class Caller:
    """Asks one row at a time and remembers how each ask ended for it."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = GuidanceServiceStub(channel)
        self._next_id = 0
        self.saw: collections.Counter[str] = collections.Counter()

    def _request(self, task: str, value: float, final_by_ms: int | None) -> pb.GetGuidanceRequest:
        self._next_id += 1
        row = {"obs": np.array([[value]], np.float32)}
        query = Query(AskOptions(final_by_ms=final_by_ms), [0], [self._next_id], [0], [0], row)
        return pb.GetGuidanceRequest(agent="caller", task=task, ask=codec.query_to_proto(query))

    async def ask(self, task, *, value=0.5, metadata=TOKEN, final_by_ms=5000) -> None:
        request = self._request(task, value, final_by_ms)
        try:
            response = await self._stub.GetGuidance(request, metadata=metadata, timeout=60)
            self.saw["degraded" if response.answer.degraded else "answered"] += 1
        except grpc.aio.AioRpcError as error:
            self.saw[error.code().name] += 1
        except asyncio.CancelledError:
            self.saw["CANCELLED"] += 1


def mixed(caller: Caller) -> list:
    """Hundred rounds in which every fate but one has its share."""
    asks = []
    for number in range(100):
        asks += [caller.ask("quick") for _ in range(6)]
        asks += [caller.ask("slow", final_by_ms=100), caller.ask("failing")]
        if number % 2:
            asks.append(caller.ask("quick", value=float("nan")))
        else:
            asks.append(caller.ask("quick", metadata=(("authorization", "Bearer wrong"),)))
    return asks


async def abandoned(caller: Caller, broker: Broker) -> None:
    """A hundred asks whose callers go once all of them have reached their source."""
    asks = [asyncio.create_task(caller.ask("silent", final_by_ms=60_000)) for _ in range(100)]
    await until(lambda: broker.metrics.sources.in_flight.value(("silent",)) == 100)
    for ask in asks:
        ask.cancel()
    await asyncio.gather(*asks)


async def until(holds) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - what is waited for happens on the other side of a socket
            await asyncio.sleep(0.02)


async def watch(broker: Broker, seen: list[float]) -> None:
    while True:
        seen.append(broker.metrics.asks.in_flight.value())
        await asyncio.sleep(0.02)


async def test_what_the_broker_counts_is_what_its_callers_saw(broker):
    in_flight: list[float] = []
    watcher = asyncio.create_task(watch(broker, in_flight))
    async with grpc.aio.insecure_channel(f"127.0.0.1:{broker.port}") as channel:
        caller = Caller(channel)
        leaving = asyncio.create_task(abandoned(caller, broker))
        asks = mixed(caller)
        for start in range(0, len(asks), 100):
            await asyncio.gather(*asks[start : start + 100])
        await leaving
        await until(lambda: broker.metrics.asks.in_flight.value() == 0)
    watcher.cancel()
    assert caller.saw == {
        "answered": 600,
        "CANCELLED": 100,
        "DEADLINE_EXCEEDED": 100,
        "degraded": 100,
        "INVALID_ARGUMENT": 50,
        "UNAUTHENTICATED": 50,
    }
    assert min(in_flight) >= 0
    assert max(in_flight) > 0
    async with httpx.AsyncClient(trust_env=False) as http:
        page = await http.get(f"http://127.0.0.1:{broker.admin_port}/metrics", headers=dict(TOKEN))
    samples = scraped(page.content)
    assert outcomes(samples) == {
        "answered": 600,
        "cancelled": 100,
        "deadline": 100,
        "degraded": 100,
        "caller_fault": 100,
    }
    assert total(samples, "guidance_asks_received_total") == 1000
    assert total(samples, "guidance_ask_first_answer_seconds_count") == 1000
    assert samples[("guidance_asks_in_flight",)] == 0
    assert total(samples, "guidance_attempts_in_flight") == 0


def outcomes(samples: dict[tuple[str, ...], float]) -> dict[str, float]:
    counted: collections.Counter[str] = collections.Counter()
    for key, value in samples.items():
        if key[0] == "guidance_asks_ended_total":
            counted[key[1]] += value
    return dict(counted)


def total(samples: dict[tuple[str, ...], float], name: str) -> float:
    return sum(value for key, value in samples.items() if key[0] == name)
