"""Copies of one environment stepped together in one process, reset within the step that ends an episode.

Our own layer (`VectorEnv`) and the adapter for a foreign `gymnasium.vector.VectorEnv` (`from_gymnasium`)
give the same `VectorStep`, so a learner is written once. Shapes: N sub-environments, O observation and
A action components.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]
State = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class VectorStep:
    """What one step of all sub-environments gave. Every array is fresh: it may be kept."""

    observation: Floats  # [N, O] raw: what to act on next; first of the next episode where one ended
    reward: Floats  # [N] raw reward of the environment
    terminated: Flags  # [N] a step that is both terminated and truncated counts as terminated
    truncated: Flags  # [N] never true where `terminated` is
    final_observation: Floats  # [N, O] where this step led: last of the ended episode, else `observation`
    episode_return: Floats  # [N] raw return, this step included (of the ended episode where one ended)
    episode_length: Counts  # [N] steps so far, this step included
    valid: Flags  # [N] false on a foreign environment's reset step: no transition, must be masked

    @property
    def done(self) -> Flags:
        """[N]: the episode ended with this step, either way."""
        return self.terminated | self.truncated


def episode_seed(seed: int, env_index: int, episode: int) -> int:
    """Seed of one episode of one sub-environment: 64 bits that neighbouring `seed`s do not share.

    `seed + index`, the usual rule, gives run 1 the episodes of run 0.

    >>> episode_seed(0, 1, 0) == episode_seed(1, 0, 0)
    False
    """
    return int(np.random.SeedSequence(seed, spawn_key=(env_index, episode)).generate_state(1, np.uint64)[0])


class VectorEnv:
    """N environments made by `make`, SAME_STEP: a finished one is reset at once and never costs a reset step.

    `observation_space` and `action_space` are one sub-environment's: one-dimensional boxes (else ValueError).
    """

    def __init__(self, make: Callable[[], gymnasium.Env[Any, Any]], num_envs: int, seed: int) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, got {num_envs}")
        if not 0 <= seed < 2**63:
            raise ValueError(f"seed must lie in [0, 2**63), got {seed}")
        self.num_envs = num_envs
        self.seed = seed
        self.envs = [make() for _ in range(num_envs)]
        self.observation_space = _flat_box(self.envs[0].observation_space, "observation")
        self.action_space = _flat_box(self.envs[0].action_space, "action")
        self._observation = np.zeros((num_envs, *self.observation_space.shape))
        self._episode = np.full(num_envs, -1, dtype=np.int64)
        self._return = np.zeros(num_envs)
        self._length = np.zeros(num_envs, dtype=np.int64)

    @property
    def reset_step_next(self) -> Flags:
        """[N]: the coming step of this sub-environment ignores its action. Never so here."""
        return np.zeros(self.num_envs, dtype=np.bool_)

    def reset(self) -> Floats:
        """Start the next episode of every sub-environment; returns first observations [N, O]."""
        for i in range(self.num_envs):
            self._begin_episode(i)
        return self._observation.copy()

    def step(self, action: NDArray[np.floating[Any]]) -> VectorStep:
        """Take `action` [N, A], clipped to the box. A non-finite one is a ValueError naming row and index."""
        if self._episode[0] < 0:
            raise RuntimeError("step before reset")
        clipped = _clip(action, self.num_envs, self.action_space)
        reward = np.empty(self.num_envs)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        for i, env in enumerate(self.envs):
            self._observation[i], reward[i], terminated[i], truncated[i], _ = env.step(clipped[i])
        truncated &= ~terminated
        self._return += reward
        self._length += 1
        led_to, returns, lengths = self._observation.copy(), self._return.copy(), self._length.copy()
        for ended in np.flatnonzero(terminated | truncated):
            self._begin_episode(int(ended))
        valid = np.ones(self.num_envs, dtype=np.bool_)
        return VectorStep(
            self._observation.copy(), reward, terminated, truncated, led_to, returns, lengths, valid
        )

    def get_state(self) -> State:
        """All that decides the future: a flat dict of numeric arrays, sub-environment i under `env/i/`.

        A sub-environment without `get_state` is a TypeError.
        """
        state: State = {
            "seed": np.asarray(self.seed, dtype=np.int64),
            "observation": self._observation.copy(),
            "episode": self._episode.copy(),
            "episode_return": self._return.copy(),
            "episode_length": self._length.copy(),
        }
        for i, env in enumerate(self.envs):
            if not hasattr(env, "get_state"):
                raise TypeError(f"{env} cannot be saved: it has no get_state")
            state |= {f"env/{i}/{key}": value for key, value in env.get_state().items()}
        return state

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `get_state` gave. The number of sub-environments must be the same (ValueError)."""
        if state["episode"].shape != (self.num_envs,):
            raise ValueError(f"a state of {state['episode'].size} environments does not fit {self.num_envs}")
        self.seed = int(state["seed"])
        self._observation[:] = state["observation"]
        self._episode[:] = state["episode"]
        self._return[:] = state["episode_return"]
        self._length[:] = state["episode_length"]
        for i, env in enumerate(self.envs):
            prefix = f"env/{i}/"
            own = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
            env.set_state(own)  # type: ignore[attr-defined]

    def close(self) -> None:
        for env in self.envs:
            env.close()

    def _begin_episode(self, i: int) -> None:
        self._episode[i] += 1
        self._observation[i], _ = self.envs[i].reset(seed=episode_seed(self.seed, i, int(self._episode[i])))
        self._return[i] = 0.0
        self._length[i] = 0


class ForeignVectorEnv:
    """A `gymnasium.vector.VectorEnv` seen through `VectorStep`; made by `from_gymnasium`."""

    def __init__(
        self, vector_env: gymnasium.vector.VectorEnv[Any, Any, Any], mode: AutoresetMode, seed: int
    ) -> None:
        self.num_envs = vector_env.num_envs
        self.seed = seed
        self.observation_space = _flat_box(vector_env.single_observation_space, "observation")
        self.action_space = _flat_box(vector_env.single_action_space, "action")
        self._vector_env = vector_env
        self._next_step = mode is AutoresetMode.NEXT_STEP
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)
        self._return = np.zeros(self.num_envs)
        self._length = np.zeros(self.num_envs, dtype=np.int64)

    @property
    def reset_step_next(self) -> Flags:
        """[N]: the coming step of this sub-environment is a reset step: ask nothing, store nothing for it."""
        return self._ended.copy() if self._next_step else np.zeros(self.num_envs, dtype=np.bool_)

    def reset(self) -> Floats:
        """Seed and start the first episodes [N, O]; later ones go on with each one's own generator."""
        seeds = [episode_seed(self.seed, i, 0) for i in range(self.num_envs)]
        observation, _ = self._vector_env.reset(seed=seeds)  # type: ignore[arg-type]  # a list is documented
        self._ended[:] = False
        self._return[:] = 0.0
        self._length[:] = 0
        return np.array(observation, dtype=np.float64)

    def step(self, action: NDArray[np.floating[Any]]) -> VectorStep:
        """As `VectorEnv.step`. With NEXT_STEP the step after an end is a reset step: not `valid`."""
        clipped = _clip(action, self.num_envs, self.action_space)
        seen, reward, terminated, truncated, info = self._vector_env.step(clipped)
        observation = np.array(seen, dtype=np.float64)
        valid = ~self.reset_step_next
        self._forget(self._ended)
        terminated = np.array(terminated, dtype=np.bool_) & valid
        truncated = np.array(truncated, dtype=np.bool_) & ~terminated & valid
        reward = np.where(valid, np.asarray(reward, dtype=np.float64), 0.0)
        self._return += reward
        self._length += valid
        self._ended = terminated | truncated
        led_to = observation.copy() if self._next_step else self._with_final(observation, info)
        returns, lengths = self._return.copy(), self._length.copy()
        return VectorStep(observation, reward, terminated, truncated, led_to, returns, lengths, valid)

    def get_state(self) -> State:
        raise TypeError("a foreign vector environment cannot be saved bit for bit; use a VectorEnv of tasks")

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        raise TypeError("a foreign vector environment cannot be restored; use a VectorEnv of tasks")

    def close(self) -> None:
        self._vector_env.close()

    def _forget(self, rows: Flags) -> None:
        self._return[rows] = 0.0
        self._length[rows] = 0

    def _with_final(self, observation: Floats, info: Mapping[str, Any]) -> Floats:
        led_to = observation.copy()
        for i in np.flatnonzero(self._ended):
            led_to[i] = info["final_obs"][i]
        return led_to


def from_gymnasium(vector_env: gymnasium.vector.VectorEnv[Any, Any, Any], seed: int = 0) -> ForeignVectorEnv:
    """Adapt a foreign vector environment: SAME_STEP as is, NEXT_STEP with its reset steps masked by `valid`.

    Raises ValueError for DISABLED (nobody would reset it) and for one that does not declare its mode.
    """
    mode = vector_env.metadata.get("autoreset_mode")
    if mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP):
        return ForeignVectorEnv(vector_env, mode, seed)
    if mode is AutoresetMode.DISABLED:
        raise ValueError(
            "autoreset_mode DISABLED is refused: finished environments would never be reset; "
            "build the vector environment with AutoresetMode.SAME_STEP"
        )
    raise ValueError(
        f"metadata['autoreset_mode'] must be an AutoresetMode (SAME_STEP or NEXT_STEP), got {mode!r}"
    )


def _flat_box(space: gymnasium.Space[Any], what: str) -> Box:
    if not isinstance(space, Box) or len(space.shape) != 1:
        raise ValueError(f"the {what} space must be a one-dimensional Box, got {space}")
    return space


def _clip(action: NDArray[np.floating[Any]], num_envs: int, space: Box) -> NDArray[np.floating[Any]]:
    if action.shape != (num_envs, *space.shape):
        raise ValueError(f"action must have shape {(num_envs, *space.shape)}, got {action.shape}")
    if not np.isfinite(action).all():
        row, index = np.argwhere(~np.isfinite(action))[0]
        raise ValueError(f"action[{row}, {index}] is {action[row, index]}")
    # float32 is what the spaces of the tasks declare: one type, so that no caller's dtype changes a result
    return np.clip(action.astype(space.dtype), space.low, space.high)
