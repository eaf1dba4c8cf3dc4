"""The stock rewards as named cost terms, and when an episode ends: what a planner reads in a task folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Arguments = Mapping[str, Any]


def cost_terms(arguments: Arguments) -> dict[str, dict[str, Any]]:
    """Terms of one control step's cost, from the stock environment's arguments; the weighted sum is -reward.

    Quantities by `kind`: `velocity` (after - before) / period of `source`[`index`]; `action_squared` the sum
    of squared executed actions; `healthy` 1 while inside the ranges of `termination`; `contact_squared` the
    sum of squares of `source` clipped to +-`clip`.
    """
    body = arguments.get("main_body")
    source = {"source": "qpos", "index": 0} if body is None else {"source": "xpos", "body": body, "index": 0}
    terms: dict[str, dict[str, Any]] = {
        "forward": {"kind": "velocity", "weight": -arguments["forward_reward_weight"], **source},
        "control": {"kind": "action_squared", "weight": arguments["ctrl_cost_weight"]},
    }
    if "healthy_reward" in arguments:
        terms["healthy"] = {"kind": "healthy", "weight": -arguments["healthy_reward"]}
    if "contact_cost_weight" in arguments:
        clip = arguments["contact_force_range"][1]
        terms["contact"] = {
            "kind": "contact_squared",
            "weight": arguments["contact_cost_weight"],
            "source": "cfrc_ext",
            "clip": clip,
        }
    return terms


def termination(arguments: Arguments) -> list[dict[str, Any]]:
    """Ranges the state must stay in, else the episode ends: {source, start, stop, low, high, inclusive}.

    An open side is null, a non-finite number is outside. Empty: the task never ends early.
    """
    if "healthy_z_range" not in arguments:
        return []
    if (
        "main_body" in arguments
    ):  # Ant: height is the third number of its free joint, and the limits count as healthy
        return [_stays("qpos", 2, 3, arguments["healthy_z_range"], inclusive=True)]
    ranges = [
        _stays("qpos", 1, 2, arguments["healthy_z_range"]),
        _stays("qpos", 2, 3, arguments["healthy_angle_range"]),
    ]
    if "healthy_state_range" in arguments:
        ranges.append(_stays("qpos", 2, None, arguments["healthy_state_range"]))
        ranges.append(_stays("qvel", 0, None, arguments["healthy_state_range"]))
    return ranges


def _stays(
    source: str, start: int, stop: int | None, limits: tuple[float, float], inclusive: bool = False
) -> dict[str, Any]:
    low, high = (limit if math.isfinite(limit) else None for limit in limits)
    return {"source": source, "start": start, "stop": stop, "low": low, "high": high, "inclusive": inclusive}
