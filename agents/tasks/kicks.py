"""Velocity kicks: now and then every joint velocity jumps."""

from __future__ import annotations

from typing import Any

from agents.tasks.layer import Env, Layer


class VelocityKicks(Layer):
    """Before a step, with probability `probability`, adds std x normal to the whole of qvel (m/s and rad/s).

    One uniform number is drawn a step whether or not it kicks.

    >>> from agents.tasks.physics import make_physics
    >>> env = VelocityKicks(make_physics("Hopper-v5"), std=0.6, probability=1.0)
    >>> _ = env.reset(seed=3)
    >>> _ = env.step(env.action_space.sample())
    >>> env.kicked
    True
    """

    name = "kicks"
    stream = 2

    def __init__(self, env: Env, std: float, probability: float) -> None:
        super().__init__(env)
        self.std = std
        self.probability = probability
        self.kicked = False  # whether the last step began with a kick
        self._data = env.unwrapped.data  # type: ignore[attr-defined]

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.kicked = self.generator.random() < self.probability
        if self.kicked:
            self._data.qvel += self.std * self.generator.standard_normal(self._data.qvel.size)
        return self.env.step(action)
