"""A broker as a process: how it starts, drains, reloads and ends."""

import asyncio
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import httpx
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from protos.guidance.v1.guidance_pb2_grpc import GuidanceServiceStub
from tests.broker.house import batch
from tests.broker.live import Caller
from tests.broker.making import write_policy
from tests.e2e.wire import Stream, a_hello

GRACE_S = 3.0
CONFIG = """
[server]
address = "127.0.0.1:{port}"
admin_address = "127.0.0.1:{admin}"
grace_ms = 3000
[ledger]
path = "ledger.sqlite3"
[tasks.task]
route = {{ strategy = "fixed", providers = ["slow"] }}
[[providers]]
id = "slow"
kind = "simulated"
answer = [0.5]
latency = {{ distribution = "constant", value_ms = 800.0 }}
price = {{ usd_per_ask = 0.004 }}
"""


POLICY = """
[server]
address = "127.0.0.1:{port}"
admin_address = "127.0.0.1:{admin}"
[tasks.task]
route = {{ strategy = "fixed", providers = ["strong"] }}
[[providers]]
id = "strong"
kind = "policy"
file = "strong.safetensors"
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Served:
    process: subprocess.Popen[str]
    port: int
    admin: int
    file: Path

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


def serve(file: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "broker", "serve", str(file)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with started(tmp_path, CONFIG) as served:
        yield served


@contextmanager
def started(folder: Path, config: str) -> Iterator[Served]:
    port, admin = free_port(), free_port()
    file = folder / "broker.toml"
    file.write_text(config.format(port=port, admin=admin))
    process = serve(file)
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            grpc.channel_ready_future(channel).result(timeout=60)
        yield Served(process, port, admin, file)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


async def unary(stub: GuidanceServiceStub, ask_id: int) -> pb.AnswerBatch:
    request = pb.GetGuidanceRequest(agent=f"agent-{ask_id}", task="task", ask=batch(ask_id))
    return (await stub.GetGuidance(request, timeout=10)).answer


async def assert_healthy(served: Served) -> None:
    async with grpc.aio.insecure_channel(served.address) as channel:
        reply = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10)
        assert reply.status == health_pb2.HealthCheckResponse.SERVING
    async with httpx.AsyncClient(trust_env=False) as http:
        for page in ("livez", "readyz"):
            response = await http.get(f"http://127.0.0.1:{served.admin}/{page}", timeout=10)
            assert response.status_code == 200


async def generation(stub: GuidanceServiceStub, wanted: int) -> pb.ListProvidersResponse:
    """What is listed once that configuration is served."""
    for _ in range(400):
        listed = await stub.ListProviders(pb.ListProvidersRequest(), timeout=10)
        if listed.config_generation == wanted:
            break
        await asyncio.sleep(0.05)
    return listed


async def ended(process: subprocess.Popen[str], within_s: float) -> int:
    return await asyncio.to_thread(process.wait, within_s)


async def test_sigterm_lets_work_in_flight_finish_and_ends_streams_cleanly(served):
    """Two idle streams, one with an ask of 800 ms, and two unary asks; somebody new comes 100 ms later."""
    async with grpc.aio.insecure_channel(served.address) as channel:
        stub = GuidanceServiceStub(channel)
        streams = [Stream(stub.Session()) for _ in range(3)]
        for number, stream in enumerate(streams):
            await stream.send(hello=a_hello(f"stream-{number}"))
            await stream.until(lambda message: message.HasField("welcome"))
        asks = [asyncio.create_task(unary(stub, ask_id)) for ask_id in (1, 2)]
        await streams[0].send(asks=[batch(9)])
        await asyncio.sleep(0.2)
        signalled_at = time.monotonic()
        served.signal(signal.SIGTERM)
        await asyncio.sleep(0.1)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await unary(stub, 3)
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        answers = await asyncio.gather(*asks)
        assert [answer.kind for answer in answers] == [pb.ANSWER_KIND_FINAL] * 2
        assert list((await streams[0].answer()).ask_id) == [9]
        assert [(await stream.end())[0] for stream in streams] == [grpc.StatusCode.OK] * 3
    assert await ended(served.process, within_s=30) == 0
    assert time.monotonic() - signalled_at < GRACE_S + 1.0
    told = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "broker", "ledger", "--config", str(served.file)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "charged in all: 0.012 USD" in told.stdout


async def test_a_second_signal_ends_it_at_once(served):
    async with grpc.aio.insecure_channel(served.address) as channel:
        ask = asyncio.create_task(unary(GuidanceServiceStub(channel), 1))
        await asyncio.sleep(0.2)
        served.signal(signal.SIGTERM)
        await asyncio.sleep(0.1)
        served.signal(signal.SIGTERM)
        began = time.monotonic()
        assert await ended(served.process, within_s=10) == 130
        assert time.monotonic() - began < 0.6  # the call would have taken longer
        with pytest.raises(grpc.aio.AioRpcError):
            await ask


async def test_it_says_that_it_serves_and_sighup_reads_the_configuration_again(served):
    await assert_healthy(served)
    text = served.file.read_text()
    served.file.write_text(text + '[[providers]]\nid = "new"\nkind = "simulated"\nanswer = [0.0]\n')
    served.signal(signal.SIGHUP)
    async with grpc.aio.insecure_channel(served.address) as channel:
        stub = GuidanceServiceStub(channel)
        listed = await generation(stub, 2)
        assert [info.provider_id for info in listed.providers] == ["slow", "new"]
        served.file.write_text("nonsense")
        served.signal(signal.SIGHUP)
        await asyncio.sleep(0.3)
        assert (await stub.ListProviders(pb.ListProvidersRequest())).config_generation == 2


async def told(served: Served, event: str) -> str:
    """The next line of the broker's log about this."""
    assert served.process.stdout is not None
    while event not in (line := await asyncio.to_thread(served.process.stdout.readline)):
        assert line, "the broker has ended"
    return line


async def test_sighup_loads_a_policy_file_retrained_under_its_name_and_refuses_a_broken_one(tmp_path):
    policy = write_policy(tmp_path / "strong.safetensors", hidden=8)
    with started(tmp_path, POLICY) as served:
        async with grpc.aio.insecure_channel(served.address) as channel:
            caller, stub = Caller(channel), GuidanceServiceStub(channel)
            before = await action(caller)
            write_policy(policy, hidden=4)
            served.signal(signal.SIGHUP)
            await generation(stub, 2)
            after = await action(caller)
            assert after != before
            policy.write_bytes(policy.read_bytes()[:100])
            served.signal(signal.SIGHUP)
            assert "providers.strong.file" in await told(served, "reload_refused")
            assert (await stub.ListProviders(pb.ListProvidersRequest(), timeout=10)).config_generation == 2
            assert await action(caller) == after


async def action(caller: Caller) -> list[float]:
    answer = codec.answer_from_proto(await caller.ask("task", np.ones(11)))
    return answer.guidance.actions[0].tolist()


def test_a_taken_port_is_named_and_ends_the_start(tmp_path):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        file = tmp_path / "broker.toml"
        file.write_text(CONFIG.format(port=port, admin=free_port()))
        process = serve(file)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"127.0.0.1:{port} cannot be listened on" in out
