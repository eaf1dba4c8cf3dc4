"""The exported file: what it says of itself, and that it acts and values as the training does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from agents.environments import make
from agents.export import describe_task, named, policy_of, without_critics
from agents.policy_file import KEY, Policy, PolicyFileError
from agents.ppo.config import PPOConfig
from agents.ppo.training import Training
from agents.vector import VectorEnv

TASK = "guidance/PerturbedHopper-v0"


@pytest.fixture(scope="module")
def training() -> Training:
    config = PPOConfig(total_steps=256, envs=2, rollout_steps=128, epochs=1, members=3)
    training = Training(VectorEnv(lambda: make(TASK), 2, 0), config, 0)
    training.advance()
    return training


@pytest.fixture
def policy(training: Training) -> Policy:
    return policy_of(training, TASK, 0, {"numpy": "2"})


def observations() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((20, 11))


def test_the_file_names_the_task_its_observation_and_its_actions(policy: Policy) -> None:
    described = policy.description
    assert described["task"] == TASK
    assert described["period_us"] == 8000
    assert described["action"]["names"] == ["thigh_joint", "leg_joint", "foot_joint"]
    assert described["observation"]["shape"] == [11]
    assert described["observation"]["names"][0] == "qpos.rootz"
    assert len(described["observation"]["names"]) == 11
    assert described["training"]["steps"] == 256


@pytest.mark.parametrize("task", ["Hopper-v5", "HalfCheetah-v5", "guidance/PerturbedAnt-v0", "Walker2d-v5"])
def test_names_fit_the_shapes_for_every_task(task: str) -> None:
    described = describe_task(task)
    for part in ("observation", "action"):
        assert described[part]["shape"] == [len(set(described[part]["names"]))]
    assert described["task"] == task


def test_a_file_of_an_earlier_version_gets_its_names(policy: Policy) -> None:
    nameless = {
        "shape": [3],
        "low": [-1.0] * 3,
        "high": [1.0] * 3,
        "names": ["action_0", "action_1", "action_2"],
    }
    old = replace(policy, description={**policy.description, "action": nameless})
    assert named(old).description == policy.description


def test_a_file_acts_and_values_as_what_it_was_made_from(
    training: Training, policy: Policy, tmp_path: Path
) -> None:
    policy.save(tmp_path / "p.safetensors")
    loaded, raw = Policy.load(tmp_path / "p.safetensors"), observations()
    np.testing.assert_array_equal(loaded.predict(raw)[0], policy.predict(raw)[0])
    np.testing.assert_array_equal(loaded.values(raw), policy.values(raw))
    seen = training.norm.normalise(raw).astype(np.float32)
    clipped = np.clip(training.networks.mean(seen), -1, 1)
    np.testing.assert_allclose(loaded.predict(raw)[0], clipped, atol=1e-6)
    expected = training.networks.values(seen).astype(np.float64) * training.env_scale.std
    np.testing.assert_allclose(loaded.values(raw), expected, rtol=1e-5)
    assert loaded.description == policy.description


def test_later_updates_do_not_reach_an_exported_policy(training: Training, policy: Policy) -> None:
    before = policy.predict(observations())[0]
    kept = training.networks.vector.copy()
    training.networks.vector += 1.0
    np.testing.assert_array_equal(policy.predict(observations())[0], before)
    training.networks.vector[...] = kept


def test_a_single_observation_gives_a_single_action(policy: Policy) -> None:
    action, state = policy.predict(observations()[0], state="kept")
    assert action.shape == (3,)
    assert state == "kept"
    with pytest.raises(ValueError, match="O = 11"):
        policy.predict(np.zeros(12))
    with pytest.raises(ValueError, match="needs rng"):
        policy.predict(observations(), deterministic=False)


def test_a_policy_without_critics_acts_the_same_and_says_what_it_lacks(policy: Policy) -> None:
    actor = without_critics(policy)
    np.testing.assert_array_equal(actor.predict(observations())[0], policy.predict(observations())[0])
    assert "critics" not in actor.description
    with pytest.raises(PolicyFileError, match="--with-critics"):
        actor.values(observations())


@pytest.mark.parametrize("name", ["norm.mean", "norm.std", "log_std", "actor.0.weight"])
def test_a_file_that_lacks_a_part_is_refused_by_its_name(policy: Policy, tmp_path: Path, name: str) -> None:
    policy.save(tmp_path / "p")
    arrays = load_file(tmp_path / "p")
    del arrays[name]
    import json

    save_file(arrays, tmp_path / "q", {KEY: json.dumps(policy.description)})
    with pytest.raises(PolicyFileError, match=f"without {name}"):
        Policy.load(tmp_path / "q")


def test_other_files_are_refused_in_words(policy: Policy, tmp_path: Path) -> None:
    save_file({"a": np.zeros(1)}, tmp_path / "x")
    with pytest.raises(PolicyFileError, match="not an exported policy"):
        Policy.load(tmp_path / "x")
    (tmp_path / "y").write_bytes(b"not safetensors")
    with pytest.raises(PolicyFileError, match="cannot be read as safetensors"):
        Policy.load(tmp_path / "y")
    save_file({"a": np.zeros(1)}, tmp_path / "z", {KEY: '{"format": 7}'})
    with pytest.raises(PolicyFileError, match="format 7"):
        Policy.load(tmp_path / "z")


def test_the_entropy_is_that_of_the_gaussian(policy: Policy) -> None:
    expected = float(np.sum(policy.log_std)) + 1.5 * (1 + np.log(2 * np.pi))
    assert policy.entropy() == pytest.approx(expected, rel=1e-6)
