"""The Hopper task with less Python around the physics: the same numbers, bit for bit, in half the time.

A head needs many steps. Here noise, kick, reward and the end of an episode are computed in one place from the
task's own layers and generators; `tests/meta_policy/test_lean_hopper.py` holds it against the task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

from agents.tasks.action_noise import ActionNoise
from agents.tasks.kicks import VelocityKicks
from agents.tasks.task import Task

VELOCITY_CLIP = 10.0


class LeanHopper:
    """Stands in for a perturbed Hopper `Task` where only observations, rewards and ends are of interest."""

    def __init__(self, task: Task) -> None:
        if [type(layer) for layer in task.layers] != [ActionNoise, VelocityKicks]:
            raise TypeError(f"a perturbed Hopper is expected, got layers {task.layers}")
        noise: Any
        kicks: Any
        noise, kicks = task.layers
        self.task, self._noise, self._kicks = task, noise, kicks
        self.observation_space, self.action_space = task.observation_space, task.action_space
        physics: Any = task.unwrapped
        self._model, self._data, self._skip = physics.model, physics.data, physics.frame_skip
        self._dt = float(physics.dt)
        self._qpos, self._qvel = self._data.qpos, self._data.qvel
        self._executed = np.empty(self._data.ctrl.size)
        self._max_steps = task.info.max_steps

    def reset(self, *, seed: int | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        return self.task.reset(seed=seed)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        executed, noise, kicks = self._executed, self._noise, self._kicks
        noise.generator.standard_normal(out=executed)
        executed *= noise.std
        executed += action
        executed.clip(-1.0, 1.0, out=executed)
        if kicks.generator.random() < kicks.probability:
            self._qvel += kicks.std * kicks.generator.standard_normal(self._qvel.size)
        before = self._qpos[0]
        self._data.ctrl[:] = executed
        mujoco.mj_step(self._model, self._data, nstep=self._skip)
        seen, healthy = self._look()
        a, b, c = executed.tolist()
        forward = (self._qpos[0] - before) / self._dt
        reward = (forward + (1.0 if healthy else 0.0)) - 1e-3 * ((a * a + b * b) + c * c)
        self.task.elapsed += 1
        return seen, float(reward), not healthy, self.task.elapsed >= self._max_steps, {}

    def get_state(self) -> dict[str, np.ndarray]:
        return self.task.get_state()

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.task.set_state(state)

    def close(self) -> None:
        self.task.close()

    def _look(self) -> tuple[np.ndarray, bool]:
        """Observation `[11]`, and whether the state is inside the ranges in which the episode goes on."""
        qpos, qvel = self._qpos, self._qvel
        seen = np.empty(11)
        seen[:5] = qpos[1:]
        seen[5:] = qvel
        _, z, angle, *joints = qpos.tolist()
        moving = [angle, *joints, *qvel.tolist()]
        healthy = z > 0.7 and -0.2 < angle < 0.2 and all(-100.0 < x < 100.0 for x in moving)
        speeds = seen[5:]
        speeds.clip(-VELOCITY_CLIP, VELOCITY_CLIP, out=speeds)
        return seen, healthy
