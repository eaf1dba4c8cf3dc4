"""What perturbing wrappers have in common: a generator of their own, and a state to save and restore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np

from agents.tasks.generator import layer_generator, load_generator, pack_generator

State = dict[str, np.ndarray]
Env = gymnasium.Env[Any, Any]


class Layer(gymnasium.Wrapper):
    """A wrapper that draws from its own generator, seeded from `reset(seed=)` and from nothing else.

    Without a seed a reset goes on with the generator it has; the first one comes from the operating system.
    `name` is its key in a saved task, `stream` keeps its draws apart from other layers' under the same seed.
    """

    name: ClassVar[str]
    stream: ClassVar[int]
    is_noise: ClassVar[bool] = True  # drawn anew within an episode, so that `reseed_noise` replaces it

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.generator = np.random.default_rng()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self.generator = layer_generator(seed, self.stream)
        return self.env.reset(seed=seed, options=options)

    def reseed(self, seed: int) -> None:
        self.generator = layer_generator(seed, self.stream, fresh=True)

    def layer_state(self) -> State:
        """What this layer alone holds."""
        return {"generator": pack_generator(self.generator)}

    def set_layer_state(self, state: Mapping[str, np.ndarray]) -> None:
        load_generator(self.generator, state["generator"])
