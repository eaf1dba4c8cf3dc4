"""A whole task: physics, perturbing layers and time limit, saved and restored as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.mujoco import MujocoEnv
from numpy.typing import NDArray

from agents.tasks.action_noise import ActionNoise
from agents.tasks.info import TaskInfo, task_info
from agents.tasks.kicks import VelocityKicks
from agents.tasks.layer import Env, Layer
from agents.tasks.model_shift import ModelShift, Shift
from agents.tasks.perturbations import PERTURBATIONS
from agents.tasks.physics import make_physics, restore_physics, save_physics, simulation_state

State = dict[str, np.ndarray]


class Task(gymnasium.Wrapper):
    """The outermost wrapper: truncates after `info.max_steps` and owns the state of everything below.

    >>> task = make_task("guidance/PerturbedHopper-v0")
    >>> _ = task.reset(seed=1)
    >>> saved = task.get_state()
    >>> first = task.step(np.zeros(3, np.float32))[0]
    >>> _ = task.set_state(saved)
    >>> bool((task.step(np.zeros(3, np.float32))[0] == first).all())
    True
    """

    def __init__(self, env: Env, info: TaskInfo) -> None:
        super().__init__(env)
        self.info = info
        self.elapsed = 0  # steps of the running episode
        self.layers = _layers(env)
        self._physics: MujocoEnv = env.unwrapped  # type: ignore[assignment]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self.elapsed = 0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.elapsed += 1
        return observation, reward, terminated, truncated or self.elapsed >= self.info.max_steps, info

    def simulation_state(self) -> NDArray[np.float64]:
        """mjSTATE_INTEGRATION [S]: the `sim_state` of an ask, for a planner that simulates from here."""
        return simulation_state(self._physics)

    def get_state(self) -> State:
        """Everything that decides the rest of the episode, bit for bit: a flat dict of numeric arrays."""
        state = {f"physics/{key}": value for key, value in save_physics(self._physics).items()}
        for layer in self.layers:
            state |= {f"{layer.name}/{key}": value for key, value in layer.layer_state().items()}
        return state | {"elapsed": np.asarray(self.elapsed, dtype=np.int64)}

    def set_state(self, state: Mapping[str, np.ndarray]) -> NDArray[np.float64]:
        """Restore what `get_state` of the same kind of task gave; returns the observation of that moment [O].

        KeyError when the state lacks something this task holds, ValueError when it holds something more.
        """
        expected = {"physics", "elapsed", *(layer.name for layer in self.layers)}
        if surplus := {key.split("/")[0] for key in state} - expected:
            raise ValueError(f"the state belongs to another kind of task: it also holds {sorted(surplus)}")
        for layer in self.layers:  # before the physics: a changed model decides what the physics state means
            layer.set_layer_state(_under(layer.name, state))
        observation = restore_physics(self._physics, _under("physics", state))
        self.elapsed = int(state["elapsed"])
        return observation

    def reseed_noise(self, seed: int) -> None:
        """Replace the noise generators, nothing else: another future from the same state, body and clock."""
        for layer in self.layers:
            if layer.is_noise:
                layer.reseed(seed)


def make_task(
    task_id: str, *, perturb: bool = True, shift: Shift | None = None, render_mode: str | None = None
) -> Task:
    """Build a task of the table. `perturb=False` is the stock v5 environment; `shift` changes the body.

    >>> [layer.name for layer in make_task("guidance/PerturbedAnt-v0").layers]
    ['action_noise', 'kicks']
    """
    info = task_info(task_id)
    sizes = PERTURBATIONS[task_id]
    changes = {"reset_noise_scale": sizes.reset_noise} if perturb else {}
    env: Env = make_physics(info.stock_id, render_mode=render_mode, **changes)
    if shift is not None:
        env = ModelShift(env, shift)
    if perturb:
        env = VelocityKicks(env, sizes.kick_std, sizes.kick_probability)
        env = ActionNoise(env, sizes.action_noise_std)
    return Task(env, info)


def _layers(env: Env) -> tuple[Layer, ...]:
    found = []
    while isinstance(env, Layer):
        found.append(env)
        env = env.env
    return tuple(found)


def _under(name: str, state: Mapping[str, np.ndarray]) -> State:
    prefix = f"{name}/"
    return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
