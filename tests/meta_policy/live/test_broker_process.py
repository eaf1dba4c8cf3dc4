"""A real broker as a child: it comes up, it goes down, and it never outlives us."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from meta_policy.live.broker_process import BrokerFailed, BrokerProcess, free_ports

RULES_ONLY = """
[server]
address = "127.0.0.1:{port}"
admin_address = "127.0.0.1:{admin}"

[tasks."guidance/PerturbedHopper-v0"]
folder = "task"
route = {{ strategy = "fixed", providers = ["rule"] }}

[[providers]]
id = "rule"
kind = "rules"
"""

ORPHANING = """
import asyncio, sys
from pathlib import Path
from meta_policy.live.broker_process import BrokerProcess

async def main():
    folder, port, admin = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    broker = BrokerProcess(folder / "broker.toml", f"127.0.0.1:{port}", f"127.0.0.1:{admin}", folder / "log")
    async with broker:
        print(broker.pid, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.fixture
def ports(tmp_path: Path) -> tuple[int, int]:
    from agents.tasks.export import export_task

    export_task("guidance/PerturbedHopper-v0", tmp_path / "task")
    port, admin = free_ports()
    (tmp_path / "broker.toml").write_text(RULES_ONLY.format(port=port, admin=admin))
    return port, admin


def broker_of(folder: Path, ports: tuple[int, int]) -> BrokerProcess:
    address, admin = (f"127.0.0.1:{port}" for port in ports)
    return BrokerProcess(folder / "broker.toml", address, admin, folder / "broker.log")


def gone(pid: int, within_s: float = 20.0) -> bool:
    """Whether a process of another parent has ended; a zombie has."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


async def test_it_is_ready_inside_the_block_and_gone_after_it(tmp_path: Path, ports: tuple[int, int]):
    broker = broker_of(tmp_path, ports)
    async with broker:
        reader, writer = await asyncio.open_connection("127.0.0.1", ports[0])
        writer.close()
        pid = broker.pid
    assert broker.exit_code == 0  # it drained
    assert pid is not None
    assert gone(pid)
    del reader


async def test_it_can_be_started_again_after_a_crash(tmp_path: Path, ports: tuple[int, int]):
    async with broker_of(tmp_path, ports) as broker:
        broker.kill()
        assert not broker.alive
        broker.spawn()
        await broker.ready()
        assert broker.alive
        assert broker.starts == 2


async def test_a_broker_that_cannot_start_says_why(tmp_path: Path, ports: tuple[int, int]):
    (tmp_path / "broker.toml").write_text("[server]\naddres = 'x'\n")
    with pytest.raises(BrokerFailed, match="addres"):
        async with broker_of(tmp_path, ports):
            pass


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_it_ends_when_we_are_killed(tmp_path: Path, ports: tuple[int, int]):
    arguments = [sys.executable, "-c", ORPHANING, str(tmp_path), *map(str, ports)]
    parent = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert gone(pid)
