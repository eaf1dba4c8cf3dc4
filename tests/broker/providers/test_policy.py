"""Exported policies: the same numbers as the agents' own, and nothing that cannot be run is loaded."""

import asyncio
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from agents.networks import MlpStack, StackShape, initialise
from agents.policy_file import FORMAT, Policy
from broker.outcomes import AttemptOutcome
from broker.providers.interface import ProviderError
from broker.providers.making import Making, SetupError
from broker.providers.policy import INLINE_FLOPS, PolicySettings, make_policy
from broker.providers.policy_file import PolicyFileError, load_policy_file
from broker.providers.policy_forward import flops_a_row
from broker.testing import ManualClock
from protos.types import ProviderState
from tests.broker.making import TASK, a_call, a_query, a_task, write_policy


def made(path, **tasks):
    settings = PolicySettings(id="policy", kind="policy", file=path)
    return make_policy(settings, Making(ManualClock(), tasks or {TASK: a_task()}))


def exported_by_agents(path: Path) -> Policy:
    """A policy of two hidden layers, written by the agents' own code."""
    rng = np.random.default_rng(3)
    shape = StackShape(1, (11, 64, 64, 3))
    actor = MlpStack(shape, np.zeros(shape.parameters, np.float32))
    initialise(actor, rng, head_gain=1.0)
    description = {
        "format": FORMAT,
        "task": TASK,
        "actor": {"layers": 3, "activation": "tanh", "head": "gaussian"},
        "normaliser": {"clip": 10.0, "count": 100},
        "observation": {"name": "observation", "shape": [11], "dtype": "float64"},
        "action": {
            "shape": [3],
            "dtype": "float32",
            "low": [-1.0] * 3,
            "high": [1.0] * 3,
            "names": ["a", "b", "c"],
        },
        "training": {"algorithm": "ppo"},
    }
    low, high = np.full(3, -1, np.float32), np.full(3, 1, np.float32)
    mean, std = rng.standard_normal(11), rng.uniform(0.1, 3.0, 11)
    policy = Policy(actor, np.zeros(3, np.float32), mean, std, 10.0, low, high, description)
    policy.save(path)
    return policy


async def test_the_same_raw_observations_give_the_agents_own_actions_to_a_millionth(tmp_path):
    policy = exported_by_agents(tmp_path / "policy.safetensors")
    provider = made(tmp_path / "policy.safetensors")
    await provider.start()
    query = a_query(rows=64)
    query.observations["observation"][:8] *= 1000  # some beyond the normaliser's clip
    guided = await provider.guide(query, a_call())
    expected, _ = policy.predict(query.observations["observation"])
    assert np.abs(guided.guidance.actions - expected).max() <= 1e-6
    assert guided.guidance.actions.dtype == np.float32
    await provider.close()


async def test_a_few_rows_are_answered_on_the_spot_and_many_on_a_thread_with_the_same_actions(tmp_path):
    policy = exported_by_agents(tmp_path / "policy.safetensors")
    provider = made(tmp_path / "policy.safetensors")
    await provider.start()
    most = INLINE_FLOPS // (2 * (11 * 64 + 64 * 64 + 64 * 3))
    few, many = a_query(rows=most), a_query(rows=most + 1)
    on_the_spot = provider.guide(few, a_call())
    with pytest.raises(StopIteration) as ended:
        on_the_spot.send(None)  # it never waits
    later = asyncio.create_task(provider.guide(many, a_call()))
    await asyncio.sleep(0)
    assert not later.done()
    for query, guided in ((few, ended.value.value), (many, await later)):
        expected, _ = policy.predict(query.observations["observation"])
        assert np.abs(guided.guidance.actions - expected).max() <= 1e-6
        assert guided.provider_us > 0
    await provider.close()


async def test_one_row_of_a_large_network_does_not_hold_the_loop_up(tmp_path):
    assert flops_a_row(load_policy_file(write_policy(tmp_path / "p.safetensors"))) == 2 * (11 * 8 + 8 * 3)
    path = write_policy(tmp_path / "wide.safetensors", hidden=300_000)
    provider = made(path)
    await provider.start()
    asked = asyncio.create_task(provider.guide(a_query(), a_call()))
    await asyncio.sleep(0)
    assert not asked.done()
    assert (await asked).guidance.actions.shape == (1, 3)
    await provider.close()


async def test_a_row_s_action_does_not_depend_on_its_company(tmp_path):
    provider = made(write_policy(tmp_path / "p.safetensors"))
    await provider.start()
    query = a_query(rows=5)
    together = (await provider.guide(query, a_call())).guidance.actions
    for row in range(5):
        alone = (await provider.guide(query.take([row]), a_call())).guidance.actions
        assert np.abs(alone[0] - together[row]).max() <= 1e-6
    await provider.close()


async def test_it_is_loading_until_started_and_gone_once_closed(tmp_path):
    provider = made(write_policy(tmp_path / "p.safetensors"))
    assert provider.state is ProviderState.LOADING
    await provider.start()
    assert provider.state is ProviderState.READY
    await provider.close()
    assert provider.state is ProviderState.REMOVED


async def test_an_observation_of_another_shape_is_a_wrong_setup_not_a_crash(tmp_path):
    provider = made(write_policy(tmp_path / "p.safetensors"))
    await provider.start()
    with pytest.raises(ProviderError) as error:
        await provider.guide(a_query(rows=2, inputs=12), a_call())
    assert error.value.outcome is AttemptOutcome.MISCONFIGURED
    await provider.close()


async def test_a_failing_forward_pass_is_the_source_s_fault(tmp_path):
    provider = made(write_policy(tmp_path / "p.safetensors"))
    await provider.start()
    query = a_query()
    query.observations["observation"] = np.array([["text"] * 11], object)
    with pytest.raises(ProviderError) as error:
        await provider.guide(query, a_call())
    assert error.value.outcome is AttemptOutcome.PROVIDER_FAULT
    await provider.close()


def test_a_policy_for_another_task_s_shapes_is_refused(tmp_path):
    path = write_policy(tmp_path / "p.safetensors")
    with pytest.raises(SetupError, match="other"):
        made(path, other=a_task("other", inputs=17, actions=6))


@pytest.mark.parametrize("missing", ["norm.mean", "norm.std", "log_std", "actor.1.bias"])
def test_a_file_without_a_tensor_is_refused_by_its_name(tmp_path, missing):
    path = write_policy(tmp_path / "p.safetensors")
    rewrite(path, {missing: None})
    with pytest.raises(PolicyFileError, match=missing):
        load_policy_file(path)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("actor.0.weight", np.zeros((8, 12), np.float32), "do not fit"),
        ("norm.mean", np.zeros(12), "do not fit"),
        ("norm.std", np.zeros(11), "above 0"),
        ("actor.1.weight", np.full((3, 8), np.nan, np.float32), "not finite"),
    ],
)
def test_tensors_that_cannot_be_right_are_refused(tmp_path, name, value, said):
    path = write_policy(tmp_path / "p.safetensors")
    rewrite(path, {name: value})
    with pytest.raises(PolicyFileError, match=said):
        load_policy_file(path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": 2}, "format"),
        ({"actor": {"layers": 2, "activation": "relu", "head": "gaussian"}}, "activation"),
        ({"normaliser": {}}, "normaliser.clip"),
        ({"action": {"shape": [2], "low": [-1.0] * 2, "high": [1.0] * 2}}, "do not fit"),
    ],
)
def test_a_description_of_something_else_is_refused(tmp_path, changes, said):
    path = write_policy(tmp_path / "p.safetensors", **changes)
    with pytest.raises(PolicyFileError, match=said):
        load_policy_file(path)


def test_a_pickle_is_not_read(tmp_path):
    path = tmp_path / "p.safetensors"
    path.write_bytes(b"\x80\x04\x95cposix\nsystem\n.")
    with pytest.raises(PolicyFileError, match="safetensors"):
        load_policy_file(path)


def test_plain_safetensors_are_no_policy(tmp_path):
    save_file({"x": np.zeros(1)}, tmp_path / "p.safetensors")
    with pytest.raises(PolicyFileError, match="not an exported policy"):
        load_policy_file(tmp_path / "p.safetensors")


def test_reading_a_policy_and_making_its_source_does_not_import_torch(tmp_path):
    path = write_policy(tmp_path / "p.safetensors")
    script = (
        "import sys; from pathlib import Path; import broker.providers.registry as r; "
        "from broker.providers.policy_file import load_policy_file; "
        f"load_policy_file(Path({str(path)!r})); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def rewrite(path: Path, changes: dict[str, np.ndarray | None]) -> None:
    from safetensors import safe_open

    with safe_open(str(path), "numpy") as file:
        metadata = file.metadata()
    tensors = {name: value.copy() for name, value in load_file(path).items()} | changes
    save_file({name: value for name, value in tensors.items() if value is not None}, path, metadata)
