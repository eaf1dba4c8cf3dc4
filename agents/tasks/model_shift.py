"""A body that differs from the one trained on: mass, friction and actuator gain scaled anew every episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from agents.tasks.generator import layer_generator
from agents.tasks.layer import Env, Layer, State

Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Shift:
    """Ranges that the factors of an episode are drawn from, uniformly; (1, 1) leaves a quantity alone."""

    mass: Range = (1.0, 1.0)
    friction: Range = (1.0, 1.0)
    gain: Range = (1.0, 1.0)

    def __post_init__(self) -> None:
        for name in ("mass", "friction", "gain"):
            low, high = getattr(self, name)
            if not 0.0 < low <= high:
                raise ValueError(f"{name} must be 0 < low <= high, got {(low, high)}")


class ModelShift(Layer):
    """Draws factors for mass (with inertia), friction and actuator gear at reset and changes the model.

    >>> from agents.tasks.physics import make_physics
    >>> env = ModelShift(make_physics("Hopper-v5"), Shift(mass=(1.5, 1.5)))
    >>> mass = env.unwrapped.model.body_mass.sum()
    >>> _ = env.reset(seed=3)
    >>> round(float(env.unwrapped.model.body_mass.sum() / mass), 6)
    1.5
    """

    name = "shift"
    stream = 3
    is_noise = False  # an episode keeps its body when its noise is replaced

    def __init__(self, env: Env, shift: Shift) -> None:
        super().__init__(env)
        self.shift = shift
        self.factors = np.ones(3)  # mass, friction, gain
        self._model = env.unwrapped.model  # type: ignore[attr-defined]
        self._mass = self._model.body_mass.copy()
        self._inertia = self._model.body_inertia.copy()
        self._friction = self._model.geom_friction.copy()
        self._gear = self._model.actuator_gear.copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self.generator = layer_generator(seed, self.stream)
        low, high = np.array([self.shift.mass, self.shift.friction, self.shift.gain]).T
        self._apply(self.generator.uniform(low, high))
        return self.env.reset(seed=seed, options=options)

    def layer_state(self) -> State:
        return super().layer_state() | {"factors": self.factors.copy()}

    def set_layer_state(self, state: Mapping[str, np.ndarray]) -> None:
        super().set_layer_state(state)
        self._apply(np.array(state["factors"]))

    def _apply(self, factors: np.ndarray) -> None:
        self.factors = factors
        mass, friction, gain = factors
        self._model.body_mass[:] = self._mass * mass
        self._model.body_inertia[:] = self._inertia * mass
        self._model.geom_friction[:] = self._friction * friction
        self._model.actuator_gear[:] = self._gear * gain
        mujoco.mj_setConst(self._model, self.unwrapped.data)  # type: ignore[attr-defined]
