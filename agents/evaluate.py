"""How good a policy is: fixed seeds, frozen statistics, raw environment return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import gymnasium
import numpy as np

from agents.policy_file import Policy
from agents.vector import episode_seed

LANES = 20  # episodes played side by side
SAMPLING = 2**31  # spawn key of the sampling streams, beyond any number of lanes


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Raw returns and lengths, episode by episode."""

    returns: list[float]
    lengths: list[int]

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns))

    @property
    def standard_error(self) -> float:
        """Of the mean, over episodes; 0 for a single one."""
        n = len(self.returns)
        return float(np.std(self.returns, ddof=1) / np.sqrt(n)) if n > 1 else 0.0

    def to_json(self) -> dict[str, Any]:
        r = np.asarray(self.returns)
        summary = {
            "episodes": len(r),
            "mean": self.mean,
            "std": float(r.std()),
            "min": float(r.min()),
            "max": float(r.max()),
        }
        return {**summary, **asdict(self)}


def evaluate(
    policy: Policy,
    make: Callable[[], gymnasium.Env[Any, Any]],
    episodes: int,
    seed: int,
    deterministic: bool = True,
) -> Evaluation:
    """Play `episodes` episodes; the i-th starts from the same seed for every policy, run and machine.

    LANES of them share one forward pass. It always has LANES rows, finished and unused ones included: the
    last bits of a product of matrices depend on its shape, so that a narrower one would let an episode's
    outcome depend on how many others are played.
    """
    if episodes < 1:
        raise ValueError(f"an evaluation needs at least one episode, got {episodes}")
    envs = [make() for _ in range(min(LANES, episodes))]
    result = Evaluation([], [])
    try:
        for first in range(0, episodes, LANES):
            group = range(first, min(first + LANES, episodes))
            _play(policy, envs[: len(group)], group, seed, deterministic, result)
    finally:
        for env in envs:
            env.close()
    return result


def _play(
    policy: Policy,
    envs: list[gymnasium.Env[Any, Any]],
    group: range,
    seed: int,
    deterministic: bool,
    result: Evaluation,
) -> None:
    """One episode in every environment of `envs`; the outcomes are appended in the order of `group`."""
    noise = [_sampling(seed, episode) for episode in group]
    seen = np.zeros((LANES, len(policy.norm_mean)))
    for row, (env, episode) in enumerate(zip(envs, group, strict=True)):
        seen[row], _ = env.reset(seed=episode_seed(seed, 0, episode))
    returns, lengths = np.zeros(len(envs)), np.zeros(len(envs), np.int64)
    playing = list(range(len(envs)))
    while playing:
        mean, std = policy.distribution(seen)
        for row in tuple(playing):
            action = mean[row]
            if not deterministic:
                action = action + std[row] * noise[row].standard_normal(action.shape, dtype=np.float32)
            action = np.clip(action, policy.low, policy.high)
            seen[row], reward, terminated, truncated, _ = envs[row].step(action)
            returns[row] += float(reward)
            lengths[row] += 1
            if terminated or truncated:
                playing.remove(row)
    result.returns.extend(returns.tolist())
    result.lengths.extend(lengths.tolist())


def _sampling(seed: int, episode: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SAMPLING, episode)))
