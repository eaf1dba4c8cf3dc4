"""A configuration is taken over whole or not at all, while calls go on."""

import json

import grpc
import pytest

from broker.cli.serve import reload
from broker.errors import PreconditionFailed
from tests.broker.live import LISTEN, Caller, running
from tests.broker.metrics.test_counts import scraped

TOKENS = """
[tenants.acme]
[[auth.tokens]]
name = "agents"
token = "env:AGENT"
tenant = "acme"
roles = ["agent"]
[[auth.tokens]]
name = "prometheus"
token = "env:METRICS"
tenant = "acme"
roles = ["metrics"]
"""
ENVIRON = {"AGENT": "agent-secret", "METRICS": "metrics-secret", "NEW": "new-secret"}


def source(number: float) -> str:
    return f"""
[[providers]]
id = "source"
kind = "simulated"
answer = [{number}]
[tasks.hopper.route]
strategy = "fixed"
providers = ["source"]
"""


async def said(caller: Caller) -> float:
    from protos import codec

    return float(codec.answer_from_proto(await caller.ask("hopper")).guidance.actions[0, 0])


async def test_a_reload_changes_what_is_answered(tmp_path):
    async with running(TOKENS + source(1.0), tmp_path, ENVIRON) as at:
        caller = Caller(at.channel, "agent-secret")
        assert await said(caller) == 1.0
        at.file.write_text(LISTEN + TOKENS + source(2.0))
        await at.broker.reloader.reload()
        assert await said(caller) == 2.0


@pytest.mark.parametrize(
    "mistake", ["timeout = 800", "not TOML", '[tenants.acme2]\nbudget_usd = "1"', "[server]\nmax_rows = 7"]
)
async def test_a_reload_with_one_mistake_changes_nothing_and_is_counted(tmp_path, mistake):
    async with running(TOKENS + source(1.0), tmp_path, ENVIRON) as at:
        at.file.write_text(LISTEN + TOKENS + source(2.0) + mistake)
        with pytest.raises(PreconditionFailed):
            await at.broker.reloader.reload()
        assert await said(Caller(at.channel, "agent-secret")) == 1.0
        samples = scraped((await at.page("/metrics", "metrics-secret")).content)
        assert samples[("guidance_config_reloads_total", "refused")] == 1
        assert samples[("guidance_config_generation",)] == 1


async def test_a_refused_reload_is_logged_once_and_says_why(tmp_path):
    async with running(TOKENS + source(1.0), tmp_path, ENVIRON) as at:
        at.file.write_text(LISTEN + TOKENS + source(2.0) + "timeout = 800")
        await reload(at.broker)  # as SIGHUP does
        told = [line for line in map(json.loads, at.log.getvalue().splitlines()) if "reload" in line["event"]]
        assert [line["event"] for line in told] == ["reloaded", "reload_refused"]
        assert "timeout" in told[1]["why"]


async def test_a_revoked_token_is_refused_at_once_and_its_successor_accepted(tmp_path):
    async with running(TOKENS + source(1.0), tmp_path, ENVIRON) as at:
        old, new = Caller(at.channel, "agent-secret"), Caller(at.channel, "new-secret")
        at.file.write_text(LISTEN + TOKENS.replace("env:AGENT", "env:NEW") + source(1.0))
        await at.broker.reloader.reload()
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await old.ask("hopper")
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert await said(new) == 1.0
