"""Evaluation: the same episodes for everyone, before and after a load, and statistics that do not move."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agents.environments import make
from agents.evaluate import LANES, Evaluation, evaluate
from agents.export import policy_of, without_critics
from agents.policy_file import Policy
from agents.ppo.config import PPOConfig
from agents.ppo.training import Training
from agents.vector import VectorEnv

TASK = "guidance/PerturbedHopper-v0"


@pytest.fixture(scope="module")
def training() -> Training:
    config = PPOConfig(total_steps=5120, envs=4, rollout_steps=256, epochs=4, members=2)
    training = Training(VectorEnv(lambda: make(TASK), 4, 0), config, 0)
    while training.steps < 5120:
        training.advance()
    return training


def play(policy: Policy, episodes: int, deterministic: bool = True) -> Evaluation:
    return evaluate(policy, lambda: make(TASK), episodes, seed=123, deterministic=deterministic)


def test_returns_before_saving_equal_those_after_loading_in_a_new_process(
    training: Training, tmp_path: Path
) -> None:
    policy = policy_of(training, TASK, 0, {})
    before = play(policy, 10)
    path = tmp_path / "p.safetensors"
    policy.save(path)
    command = [sys.executable, "-m", "agents", "evaluate", str(path), "--episodes", "10", "--seed", "123"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = json.loads(done.stdout)
    assert after["returns"] == before.returns
    assert after["lengths"] == before.lengths
    assert after["task"] == TASK
    assert play(policy, 10) == before


def test_evaluation_moves_no_statistic(training: Training) -> None:
    before, _ = training.state()
    kept = {name: value.copy() for name, value in before.items()}
    play(policy_of(training, TASK, 0, {}), 4)
    for name, value in training.state()[0].items():
        np.testing.assert_array_equal(value, kept[name], err_msg=name)


def test_an_episode_does_not_depend_on_how_many_others_are_played(training: Training) -> None:
    policy = policy_of(training, TASK, 0, {})
    many = play(policy, LANES + 3)
    assert len(many.returns) == LANES + 3
    assert many.returns[:3] == play(policy, 3).returns


def test_an_episode_is_the_one_a_plain_loop_plays(training: Training) -> None:
    """Up to the last bits of a wider matrix product; the first steps show that nothing else differs."""
    policy = policy_of(training, TASK, 0, {})
    env = make(TASK)
    from agents.vector import episode_seed

    observation, _ = env.reset(seed=episode_seed(123, 0, 1))
    total, over = 0.0, False
    while not over:
        action, _ = policy.predict(observation)
        observation, reward, terminated, truncated, _ = env.step(action)
        total += float(reward)
        over = terminated or truncated
    assert play(policy, 2).returns[1] == pytest.approx(total, rel=1e-3)


def test_sampled_actions_are_repeatable_and_differ_from_the_mean_s(training: Training) -> None:
    policy = without_critics(policy_of(training, TASK, 0, {}))
    sampled = play(policy, 3, deterministic=False)
    assert sampled == play(policy, 3, deterministic=False)
    assert sampled.returns != play(policy, 3).returns


def test_the_summary_by_numbers() -> None:
    summary = Evaluation([1.0, 3.0], [10, 20]).to_json()
    assert (summary["mean"], summary["std"], summary["min"], summary["max"]) == (2.0, 1.0, 1.0, 3.0)
    assert Evaluation([1.0, 3.0], [10, 20]).standard_error == pytest.approx(1.0)
    assert Evaluation([1.0], [10]).standard_error == 0.0


def test_no_episodes_are_refused(training: Training) -> None:
    with pytest.raises(ValueError, match="at least one episode"):
        play(policy_of(training, TASK, 0, {}), 0)
