"""A configuration is taken over whole or not at all, while calls go on."""

import json
from pathlib import Path

import grpc
import numpy as np
import pytest

from broker.cli.serve import reload
from broker.errors import PreconditionFailed
from broker.providers.making import SetupError
from broker.providers.policy import PolicyProvider, PolicySettings
from broker.setup.contents import digests_of
from protos import codec
from protos.types import AskOptions
from tests.broker.live import LISTEN, Caller, running
from tests.broker.making import write_policy
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


# ------------------------------------------------------------ files changed under their old names

POLICY = """
[[providers]]
id = "strong"
kind = "policy"
file = "strong.safetensors"
[[providers]]
id = "slow"
kind = "simulated"
wraps = "strong"
latency = { distribution = "constant", value_ms = 0.0 }
[[providers]]
id = "other"
kind = "simulated"
answer = [0.0, 0.0, 0.0]
[tasks.hopper.route]
strategy = "fixed"
providers = ["strong", "slow", "other"]
"""


async def action(caller: Caller, provider_id: str) -> list[float]:
    options = AskOptions(provider_id=provider_id, final_by_ms=5000)
    answer = codec.answer_from_proto(await caller.ask("hopper", np.ones(11), options))
    return answer.guidance.actions[0].tolist()


async def test_a_policy_file_replaced_under_its_name_is_loaded_by_the_next_reload(tmp_path):
    file = write_policy(tmp_path / "strong.safetensors", hidden=8)
    async with running(POLICY, tmp_path, {}) as at:
        caller = Caller(at.channel)
        before = await action(caller, "strong")
        write_policy(file, hidden=4)
        changes = await at.broker.reloader.reload()
        assert (changes.generation, changes.changed) == (2, ("slow", "strong"))
        after = await action(caller, "strong")
        assert after != before
        assert await action(caller, "slow") == after  # what stands on it follows


async def test_a_reload_that_finds_the_same_contents_makes_nothing_anew(tmp_path):
    file = write_policy(tmp_path / "strong.safetensors")
    async with running(POLICY, tmp_path, {}) as at:
        kept = dict(at.broker.reloader.current.providers)
        file.write_bytes(file.read_bytes())  # another time stamp
        changes = await at.broker.reloader.reload()
        assert (changes.added, changes.removed, changes.changed) == ((), (), ())
        assert at.broker.reloader.current.providers == kept


@pytest.mark.parametrize("fault", ["cut", "other_actions", "gone", "folder"])
async def test_a_file_that_cannot_be_used_is_named_and_the_old_one_serves_on(tmp_path, fault):
    file = write_policy(tmp_path / "strong.safetensors")
    async with running(POLICY, tmp_path, {}) as at:
        caller = Caller(at.channel)
        before = await action(caller, "strong")
        spoil(file, fault)
        with pytest.raises(PreconditionFailed, match=r"providers(\.strong|\[0\])\.file: "):
            await at.broker.reloader.reload()
        assert at.broker.reloader.generation == at.broker.service.catalogue.generation == 1
        assert await action(caller, "strong") == before


def spoil(file: Path, fault: str) -> None:
    whole = file.read_bytes()
    file.unlink()
    if fault == "cut":
        file.write_bytes(whole[: len(whole) // 2])
    elif fault == "other_actions":
        write_policy(file, action={"shape": [2], "dtype": "float32", "low": [-1.0] * 2, "high": [1.0] * 2})
    elif fault == "folder":
        file.mkdir()


RULES = """
[tasks.hopper]
folder = "hopper"
[tasks.hopper.route]
strategy = "fixed"
providers = ["rule"]
[[providers]]
id = "rule"
kind = "rules"
rule = "tests.broker.running.test_reloading:push"
"""


def push(observations):
    return np.full((len(observations["observation"]), 3), 0.75)


def write_task(folder: Path, high: float) -> None:
    folder.mkdir(exist_ok=True)
    told = {
        "format": "guidance-task/1",
        "task_id": "hopper",
        "period_us": 8000,
        "observation": {"dtype": "float64", "shape": [11]},
        "action": {"shape": [3], "low": [-1.0] * 3, "high": [high] * 3},
    }
    (folder / "task.json").write_text(json.dumps(told))


async def test_a_task_folder_changed_in_place_changes_the_bounds_of_its_sources(tmp_path):
    write_task(tmp_path / "hopper", high=1.0)
    async with running(RULES, tmp_path, {}) as at:
        caller = Caller(at.channel)
        assert await action(caller, "rule") == [0.75] * 3
        write_task(tmp_path / "hopper", high=0.5)
        assert (await at.broker.reloader.reload()).changed == ("rule",)
        assert await action(caller, "rule") == [0.5] * 3
        write_task(tmp_path / "hopper", high=-2.0)
        with pytest.raises(PreconditionFailed, match=r"tasks\.hopper\.folder: .*task\.json"):
            await at.broker.reloader.reload()
        assert await action(caller, "rule") == [0.5] * 3


async def test_a_source_that_cannot_start_refuses_the_whole_configuration(tmp_path, monkeypatch):
    write_policy(tmp_path / "strong.safetensors")
    async with running(POLICY, tmp_path, {}) as at:
        write_policy(tmp_path / "strong.safetensors", hidden=4)
        at.file.write_text(
            LISTEN + POLICY + '[[providers]]\nid = "new"\nkind = "simulated"\nanswer = [0.0]\n'
        )
        monkeypatch.setattr(PolicyProvider, "start", no_memory)
        with pytest.raises(PreconditionFailed, match=r"providers\.strong: could not be started"):
            await at.broker.reloader.reload()
        assert sorted(at.broker.service.catalogue.sources) == ["other", "slow", "strong"]
        samples = scraped((await at.page("/metrics")).content)
        assert samples[("guidance_config_reloads_total", "refused")] == 1


async def no_memory(provider: PolicyProvider) -> None:
    raise MemoryError


def test_the_digest_of_an_unreadable_file_is_refused_with_its_key(tmp_path):
    settings = PolicySettings.model_construct(id="strong", kind="policy", file=tmp_path / "gone")
    with pytest.raises(SetupError, match=r"file: .*gone cannot be read: No such file"):
        digests_of(settings)
