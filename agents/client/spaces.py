"""A session's schema out of an environment's spaces. Gymnasium is not imported: its spaces say enough by
themselves.
"""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from protos.types import ActionSpec, BoxAction, DiscreteAction, LaneSpec, TensorSpec

OBSERVATION = "observation"
"""The name of the only tensor where the space is not a dict of several."""


class Schema(TypedDict):
    """What `open_session` wants to know of an agent: ``open_session(task, **schema_of(env,
    period_us=8_000))``.
    """

    observations: tuple[TensorSpec, ...]
    action: ActionSpec
    lanes: tuple[LaneSpec, ...]


def schema_of(env: Any, period_us: int, lanes: int = 1) -> Schema:
    """The schema of `lanes` copies of a Gymnasium environment, stepped every `period_us` microseconds.

    Observations: a box, or a dict of boxes. Actions: a box or a discrete space. TypeError for others.
    """
    return {
        "observations": _tensors(env.observation_space),
        "action": _action(env.action_space),
        "lanes": tuple(LaneSpec(lane, period_us) for lane in range(lanes)),
    }


def _tensors(space: Any) -> tuple[TensorSpec, ...]:
    named = {OBSERVATION: space} if not hasattr(space, "spaces") else dict(space.spaces)
    for name, one in named.items():
        if getattr(one, "shape", None) is None or not hasattr(one, "low"):
            raise TypeError(f"observation {name!r} should be a box, got {one}")
    return tuple(TensorSpec(name, np.dtype(one.dtype), tuple(one.shape)) for name, one in named.items())


def _action(space: Any) -> ActionSpec:
    if hasattr(space, "low"):
        low, high = (tuple(np.ravel(bound).tolist()) for bound in (space.low, space.high))
        return BoxAction(tuple(space.shape), low, high)
    if hasattr(space, "n") and hasattr(space, "start"):
        return DiscreteAction(int(space.n), int(space.start))
    raise TypeError(f"the action space should be a box or discrete, got {space}")
