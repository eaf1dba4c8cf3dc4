"""From a running or saved training to a policy file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from agents.environments import info_of, observation_names_of
from agents.networks import MlpStack
from agents.policy_file import FORMAT, Critics, Policy
from agents.ppo.training import Training


def policy_of(training: Training, task: str, seed: int, versions: dict[str, str]) -> Policy:
    """A copy of the policy as it stands, critics included; later updates do not reach it."""
    networks, norm = training.networks, training.norm
    space = training.env.action_space
    std = np.sqrt(norm.state_dict()["m2"] / max(norm.count, 1) + 1e-8) if norm.count else np.ones(norm.shape)
    critics = Critics(
        _copy(networks.critics),
        _copy(networks.priors),
        float(networks.prior_scale),
        training.env_scale.std,
        training.config.gamma,
    )
    return Policy(
        _copy(networks.actor),
        networks.log_std.copy(),
        norm.mean.copy(),
        std,
        norm.clip,
        space.low.astype(np.float32),
        space.high.astype(np.float32),
        _describe(training, task, seed, versions),
        critics,
    )


def without_critics(policy: Policy) -> Policy:
    """The same policy for those who only act."""
    description = {key: value for key, value in policy.description.items() if key != "critics"}
    return replace(policy, description=description, critics=None)


def describe_task(task: str) -> dict[str, Any]:
    """The part of a policy file's description that the task alone decides, names from the task table."""
    info = info_of(task)
    return {
        "task": task,
        "period_us": info.period_us,
        "observation": {
            "name": "observation",
            "shape": [info.observation_dim],
            "dtype": "float64",
            "names": list(observation_names_of(task)),
        },
        "action": {
            "shape": [info.action_dim],
            "dtype": "float32",
            "low": list(info.action_low),
            "high": list(info.action_high),
            "names": list(info.action_names),
        },
    }


def named(policy: Policy) -> Policy:
    """The same policy with the task's part of its description as this version writes it."""
    return replace(policy, description={**policy.description, **describe_task(policy.description["task"])})


def _copy(stack: MlpStack) -> MlpStack:
    return MlpStack(stack.shape, stack.rows.reshape(-1).copy())


def _describe(training: Training, task: str, seed: int, versions: dict[str, str]) -> dict[str, Any]:
    networks = training.networks
    return {
        "format": FORMAT,
        **describe_task(task),
        "actor": {"layers": len(networks.actor.weights), "activation": "tanh", "head": "gaussian"},
        "critics": {
            "layers": len(networks.critics.weights),
            "activation": "tanh",
            "members": networks.critics.shape.members,
            "prior_scale": float(networks.prior_scale),
            "return_scale": training.env_scale.std,
            "gamma": training.config.gamma,
        },
        "normaliser": {"clip": training.norm.clip, "count": training.norm.count},
        "training": {
            "algorithm": "ppo",
            "steps": training.steps,
            "seed": seed,
            "config": training.config.to_json(),
            "recent_return": float(np.mean([r for r, _ in training.recent])) if training.recent else None,
            "versions": versions,
        },
    }
