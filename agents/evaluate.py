"""How good a policy is: fixed seeds, frozen statistics, raw environment return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import gymnasium
import numpy as np

from agents.policy_file import Policy
from agents.vector import episode_seed


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Raw returns and lengths, episode by episode."""

    returns: list[float]
    lengths: list[int]

    def to_json(self) -> dict[str, Any]:
        r = np.asarray(self.returns)
        summary = {
            "episodes": len(r),
            "mean": float(r.mean()),
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
    """Play `episodes` episodes; the i-th starts from the same seed for every policy, run and machine."""
    env = make()
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**31,)))
    returns, lengths = [], []
    try:
        for episode in range(episodes):
            total, length = _episode(policy, env, episode_seed(seed, 0, episode), deterministic, rng)
            returns.append(total)
            lengths.append(length)
    finally:
        env.close()
    return Evaluation(returns, lengths)


def _episode(
    policy: Policy, env: gymnasium.Env[Any, Any], seed: int, deterministic: bool, rng: np.random.Generator
) -> tuple[float, int]:
    observation, _ = env.reset(seed=seed)
    total, length, over = 0.0, 0, False
    while not over:
        action, _ = policy.predict(observation, deterministic=deterministic, rng=rng)
        observation, reward, terminated, truncated, _ = env.step(action)
        total += float(reward)
        length += 1
        over = bool(terminated or truncated)
    return total, length
