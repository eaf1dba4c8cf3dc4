"""Advantages and returns over a rollout `[T, N]`, for one value function or a stack of them `[K, T, N]`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def bootstrap_values(values: Array, final_values: Array, truncated: Mask) -> Array:
    """V(s_{t+1}) as each step should see it, `[..., T, N]`.

    `values` `[..., T+1, N]` are those of the observations acted on and of the one after the last step;
    where an episode was truncated the next observation belongs to another episode, so `final_values`
    `[..., M]` (one for each True of `truncated` `[T, N]`, in row-major order) stand in.
    """
    following = np.array(values[..., 1:, :])
    following[..., truncated] = final_values
    return following


def generalised_advantages(
    rewards: Array,
    values: Array,
    next_values: Array,
    terminated: Mask,
    truncated: Mask,
    gamma: float,
    lam: float,
) -> Array:
    """GAE(gamma, lambda), shape of `values` `[..., T, N]` (Schulman et al. 2016, eq. 16).

    delta_t = r_t + gamma * (1 - terminated_t) * V(s_{t+1}) - V(s_t)
    A_t     = delta_t + gamma * lambda * (1 - terminated_t) * (1 - truncated_t) * A_{t+1},   A_T = 0

    A step that is both terminated and truncated counts as terminated: no bootstrap.
    The return that belongs to it (the value target) is A_t + V(s_t).
    """
    delta = rewards + gamma * np.where(terminated, 0.0, next_values) - values
    keep = gamma * lam * ~(terminated | truncated)
    advantages = np.zeros_like(delta)
    running = np.zeros_like(delta[..., 0, :])
    for t in range(rewards.shape[0] - 1, -1, -1):
        running = delta[..., t, :] + keep[t] * running
        advantages[..., t, :] = running
    return advantages


def explained_variance(predicted: Array, observed: Array) -> float:
    """1 - Var[y - p] / Var[y]; 0 where the observed values do not vary."""
    spread = float(np.var(observed))
    return 0.0 if spread == 0.0 else 1.0 - float(np.var(observed - predicted)) / spread
