"""Noise on the executed action."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.tasks.layer import Env, Layer


class ActionNoise(Layer):
    """Executes clip(action + std x normal): the agent never quite gets what it asked for, and pays for that.

    `std` is in units of the action, the same for every component; the sum is clipped to the action box.

    >>> from agents.tasks.physics import make_physics
    >>> env = ActionNoise(make_physics("Hopper-v5"), std=0.05)
    >>> _ = env.reset(seed=3)
    >>> _ = env.step(np.zeros(3, np.float32))
    >>> bool((env.unwrapped.data.ctrl != 0).all())
    True
    """

    name = "action_noise"
    stream = 1

    def __init__(self, env: Env, std: float) -> None:
        super().__init__(env)
        self.std = std
        self._low = np.asarray(env.action_space.low, dtype=np.float64)  # type: ignore[attr-defined]
        self._high = np.asarray(env.action_space.high, dtype=np.float64)  # type: ignore[attr-defined]
        self._executed = np.empty(self._low.size)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        executed = self._executed  # one buffer and in-place steps: this runs at every step of every task
        self.generator.standard_normal(out=executed)
        executed *= self.std
        executed += action
        executed.clip(self._low, self._high, out=executed)
        return self.env.step(executed)
