"""Money through a real broker: what callers are told they paid is what the ledger says."""

import os
import signal
import socket
import subprocess
import sys

import grpc
import pytest

from broker.ledger import Ledger
from broker.testing import ManualClock
from tests.broker.live import Caller, running

SOURCES = """
[tenants.default]
budget_usd = 0.0025
[[providers]]
id = "paid"
kind = "simulated"
answer = [0.0]
price = { usd_per_ask = 0.001 }
[[providers]]
id = "free"
kind = "simulated"
answer = [1.0]
[tasks.paid.route]
strategy = "fixed"
providers = ["paid"]
[tasks.free.route]
strategy = "fixed"
providers = ["free"]
"""


async def refused(call) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await call
    return failed.value


async def test_a_spent_budget_refuses_paid_calls_and_serves_free_ones(tmp_path):
    async with running(SOURCES, tmp_path, {}) as at:
        caller = Caller(at.channel)
        prices = [(await caller.ask("paid")).price_usd[0] for _ in range(2)]
        error = await refused(caller.ask("paid"))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (await caller.ask("free")).price_usd[0] == 0.0
        (line,) = at.broker.ledger.summary()
        assert line.charged_usd == sum(prices) == 0.002
        assert line.reserved_usd == 0.0


async def test_an_unwritable_ledger_refuses_paid_calls_and_serves_free_ones(tmp_path):
    ledger = f'[ledger]\npath = "{tmp_path / "l.db"}"\n'
    async with running(ledger + SOURCES, tmp_path, {}) as at:
        caller = Caller(at.channel)
        at.broker.ledger._storage._execute("PRAGMA query_only = 1")  # as a full disk
        error = await refused(caller.ask("paid"))
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert (await caller.ask("free")).price_usd[0] == 0.0
        at.broker.ledger._storage._execute("PRAGMA query_only = 0")
        assert (await caller.ask("paid")).price_usd[0] == 0.001


def serve(folder) -> tuple[subprocess.Popen[bytes], str]:
    ports = []
    for _ in range(2):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            ports.append(taken.getsockname()[1])
    addresses = 'address = "127.0.0.1:{}"\nadmin_address = "127.0.0.1:{}"\n'.format(*ports)
    rich = SOURCES.replace("0.0025", "1000.0")
    file = folder / "broker.toml"
    file.write_text(f'[server]\n{addresses}[log]\nlevel = "error"\n[ledger]\npath = "l.db"\n{rich}')
    return subprocess.Popen([sys.executable, "-m", "broker", "serve", str(file)]), f"127.0.0.1:{ports[0]}"


async def test_a_killed_broker_charged_what_its_callers_were_told_and_at_most_one_call_more(tmp_path):
    process, address = serve(tmp_path)
    told = 0.0
    async with grpc.aio.insecure_channel(address) as channel:
        await channel.channel_ready()
        caller = Caller(channel)
        for number in range(60):
            if number == 50:
                os.kill(process.pid, signal.SIGKILL)
            try:
                told += (await caller.ask("paid")).price_usd[0]
            except grpc.aio.AioRpcError:
                break
    assert process.wait(20) == -signal.SIGKILL
    ledger = Ledger(ManualClock(), lambda event: None, str(tmp_path / "l.db"))
    (line,) = ledger.summary()
    ledger.close()
    assert told >= 0.05 - 1e-9
    assert told - 1e-9 <= line.charged_usd <= told + 0.001 + 1e-9
