"""A broker as a process, as anyone would start it, and what it says of itself."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from protos.types import BoxAction, LaneSpec, TensorSpec

ROOT = Path(__file__).parents[2]
TASK = "guidance/PerturbedHopper-v0"
OBSERVATION = TensorSpec("observation", np.dtype("float64"), (11,))
ACTION = BoxAction((3,), (-1.0,) * 3, (1.0,) * 3)
READY_S = 60.0

CONFIG = """
[server]
address = "127.0.0.1:{port}"
admin_address = "127.0.0.1:{admin}"
update_period_ms = 100
[tenants.default]
budget_usd = {budget_usd}
[ledger]
path = "ledger.sqlite3"
[log]
level = "warning"
[tasks."guidance/PerturbedHopper-v0"]
folder = "{root}/deploy/tasks/PerturbedHopper"
[tasks."guidance/PerturbedHopper-v0".route]
strategy = "fixed"
providers = ["paid", "flaky", "slow"]
[[providers]]
id = "paid"
kind = "simulated"
answer = [0.5, 0.5, 0.5]
price = {{ usd_per_ask = 0.001, usd_per_leased_step = 0.0005 }}
latency = {{ distribution = "constant", value_ms = 1.0 }}
[[providers]]
id = "flaky"
kind = "simulated"
answer = [0.1, 0.1, 0.1]
error_rate = 0.5
price = {{ usd_per_ask = 0.002 }}
[[providers]]
id = "slow"
kind = "simulated"
answer = [0.2, 0.2, 0.2]
latency = {{ distribution = "constant", value_ms = 300.0 }}
price = {{ usd_per_ask = 0.004 }}
"""


@dataclass
class LiveBroker:
    folder: Path
    port: int
    admin: int
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "broker", "serve", str(self.folder / "broker.toml")]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)

    def kill(self) -> None:
        """As the machine would: no goodbye."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def metrics(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/metrics", timeout=10) as reply:
            text: str = reply.read().decode()
        return text

    def metric(self, name: str, label: str = "") -> dict[str, float]:
        """The values of a metric, summed by one label."""
        found: dict[str, float] = {}
        for labels, value in re.findall(rf"^{name}\{{(.*?)\}} (\S+)$", self.metrics(), re.MULTILINE):
            key = dict(re.findall(r'(\w+)="(.*?)"', labels)).get(label, "")
            found[key] = found.get(key, 0.0) + float(value)
        return found


@contextmanager
def live_broker(folder: Path, budget_usd: float = 10.0) -> Iterator[LiveBroker]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        port, admin = one.getsockname()[1], other.getsockname()[1]
    config = CONFIG.format(port=port, admin=admin, budget_usd=budget_usd, root=ROOT)
    (folder / "broker.toml").write_text(config)
    broker = LiveBroker(folder, port, admin)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


def lanes(count: int) -> list[LaneSpec]:
    return [LaneSpec(lane, 8_000) for lane in range(count)]


async def until(holds: Callable[[], bool], seconds: float = READY_S) -> None:
    """Look every few milliseconds; the broker is another process and tells nobody when it is done."""
    ends_at = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends_at, "it did not come about in time"
        await asyncio.sleep(0.005)
