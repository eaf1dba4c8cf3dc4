"""An ensemble must be able to disagree: at the start, after a load, after training, and far from the data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agents.environments import make
from agents.export import policy_of, without_critics
from agents.policy_file import Critics, Policy
from agents.ppo.config import PPOConfig
from agents.ppo.monitor import inspect_ensemble, pairwise_distances
from agents.ppo.training import Training
from agents.vector import VectorEnv

CONFIG = PPOConfig(total_steps=2048, envs=4, rollout_steps=128, epochs=4, members=5)


@pytest.fixture(scope="module")
def trained() -> tuple[Training, Policy, np.ndarray]:
    training = Training(VectorEnv(lambda: make("guidance/PerturbedHopper-v0"), 4, 0), CONFIG, 0)
    before = pairwise_distances(training.networks.critics)
    assert before[~np.eye(5, dtype=bool)].min() > 0
    while training.steps < 2048:
        training.advance()
    policy = policy_of(training, "guidance/PerturbedHopper-v0", 0, {})
    return training, policy, training.columns.raw.reshape(-1, 11)[:200]


def test_members_disagree_more_far_away_after_training(trained: tuple[Training, Policy, np.ndarray]) -> None:
    _, policy, probes = trained
    report = inspect_ensemble(policy, probes)
    assert report.far_share >= 0.8
    assert report.closest_pair > 0
    assert not report.ensemble_collapsed


def test_members_stay_apart_in_a_saved_policy(
    trained: tuple[Training, Policy, np.ndarray], tmp_path: Path
) -> None:
    _, policy, probes = trained
    policy.save(tmp_path / "p.safetensors")
    loaded = Policy.load(tmp_path / "p.safetensors")
    np.testing.assert_array_equal(loaded.values(probes), policy.values(probes))
    assert inspect_ensemble(loaded, probes) == inspect_ensemble(policy, probes)


def test_copies_of_one_member_are_a_collapsed_ensemble(trained: tuple[Training, Policy, np.ndarray]) -> None:
    _, policy, probes = trained
    assert policy.critics is not None
    copied = policy_with_critics(policy, policy.critics)
    assert copied.critics is not None
    for part in (copied.critics.functions, copied.critics.priors):
        part.rows[...] = part.rows[:1]
    report = inspect_ensemble(copied, probes)
    assert report.closest_pair == 0.0
    assert report.ensemble_collapsed


def test_without_two_critics_there_is_no_report(trained: tuple[Training, Policy, np.ndarray]) -> None:
    _, policy, probes = trained
    with pytest.raises(ValueError, match="two or more critics"):
        inspect_ensemble(without_critics(policy), probes)


def policy_with_critics(policy: Policy, critics: Critics) -> Policy:
    """A copy whose critics may be changed."""
    from agents.export import _copy

    return replace(
        policy, critics=replace(critics, functions=_copy(critics.functions), priors=_copy(critics.priors))
    )
