"""Prometheus' own judgement of what we expose and ship."""

import asyncio
import shutil
import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.broker.live import Caller, Running, running
from tests.broker.metrics.test_counts import metrics, one_of_each

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = ROOT / "deploy" / "prometheus" / "prometheus.yml"
TOKEN = "scrape-secret"
TEXT = """
[tenants.acme]
[[auth.tokens]]
name = "prometheus"
token = "env:METRICS"
tenant = "acme"
roles = ["metrics", "agent"]
[[providers]]
id = "source"
kind = "simulated"
answer = [0.0]
[tasks.hopper.route]
strategy = "fixed"
providers = ["source"]
"""
pytestmark = pytest.mark.services


def promtool(*arguments: str, given: bytes = b"") -> str:
    """What promtool says; it must succeed."""
    done = subprocess.run(["promtool", *arguments], input=given, capture_output=True, check=False)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    return said


def test_every_metric_there_is_passes_promtool():
    listener = metrics()
    for event in one_of_each():
        listener(event)
    assert promtool("check", "metrics", given=listener.exposition()) == ""


async def test_the_metrics_of_a_running_broker_pass_promtool(tmp_path):
    async with running(TEXT, tmp_path, {"METRICS": TOKEN}) as at:
        await Caller(at.channel, TOKEN).ask("hopper")
        page = await at.page("/metrics", TOKEN)
    assert promtool("check", "metrics", given=page.content) == ""


def test_the_shipped_prometheus_configuration_is_valid(tmp_path):
    shutil.copy(SHIPPED, tmp_path)
    (tmp_path / "guidance-token").write_text("a token")
    assert "SUCCESS" in promtool("check", "config", str(tmp_path / "prometheus.yml"))


async def test_prometheus_scrapes_a_broker_with_the_shipped_configuration_and_a_token(tmp_path):
    async with running(TEXT, tmp_path, {"METRICS": TOKEN}) as at:
        await Caller(at.channel, TOKEN).ask("hopper")
        prometheus, port = start_prometheus(at, tmp_path)
        try:
            value = await first_value(port, 'sum(guidance_asks_ended_total{outcome="answered"})')
        finally:
            prometheus.terminate()
            prometheus.wait(20)
    assert value == 1.0


def start_prometheus(at: Running, folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    text = SHIPPED.read_text().replace("127.0.0.1:9464", f"127.0.0.1:{at.broker.admin_port}")
    (folder / "prometheus.yml").write_text(text.replace("5s", "1s").replace("4s", "1s"))
    (folder / "guidance-token").write_text(TOKEN)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    arguments = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]
    return subprocess.Popen(arguments), port


async def first_value(port: int, query: str) -> float:
    """The query's first value, as soon as there is one."""
    async with asyncio.timeout(60), httpx.AsyncClient(trust_env=False) as http:
        while True:
            try:
                reply = await http.get(f"http://127.0.0.1:{port}/api/v1/query", params={"query": query})
                found = reply.json()["data"]["result"]
            except (httpx.TransportError, ValueError, KeyError):  # it may answer in words while it starts
                found = []
            if found:
                return float(found[0]["value"][1])
            await asyncio.sleep(0.2)
