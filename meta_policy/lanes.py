"""B copies of a task, each told the seed of every episode: nothing resets on its own, so methods pair up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from gymnasium import Env
from numpy.typing import NDArray

from meta_policy.view import Counts, Flags, Floats

State = dict[str, np.ndarray]
COLUMNS = ("observation", "seed", "step_count", "active")


class Lanes:
    """Tasks stepped together in one process. A lane without an episode is skipped, its observation kept."""

    def __init__(self, make: Callable[[], Env], count: int) -> None:  # type: ignore[type-arg]
        if count < 1:
            raise ValueError(f"at least one lane is needed, got {count}")
        self.envs = [make() for _ in range(count)]
        space = self.envs[0].observation_space
        self.observation: Floats = np.zeros((count, space.shape[0]))  # type: ignore[index]
        self.actions = int(self.envs[0].action_space.shape[0])  # type: ignore[index]
        self.seed: Counts = np.zeros(count, np.int64)
        self.step_count: Counts = np.zeros(count, np.int64)
        self.active: Flags = np.zeros(count, np.bool_)

    def __len__(self) -> int:
        return len(self.envs)

    def begin(self, lane: int, seed: int) -> None:
        """Start the episode of `seed` on one lane."""
        self.observation[lane], _ = self.envs[lane].reset(seed=seed)
        self.seed[lane], self.step_count[lane], self.active[lane] = seed, 0, True

    def step(self, action: NDArray[np.float32]) -> tuple[Floats, Flags, Flags]:
        """Take `[B, A]` on active lanes: reward, terminated, truncated `[B]`; ended lanes turn inactive."""
        reward = np.zeros(len(self))
        terminated, truncated = np.zeros(len(self), np.bool_), np.zeros(len(self), np.bool_)
        for i in np.flatnonzero(self.active):
            seen, reward[i], terminated[i], truncated[i], _ = self.envs[i].step(action[i])
            self.observation[i] = seen
        truncated &= ~terminated
        self.step_count += self.active
        self.active &= ~(terminated | truncated)
        return reward, terminated, truncated

    def get_state(self) -> State:
        """All that decides the future of every lane, an environment's own under `env/i/`: numeric arrays."""
        own = {name: getattr(self, name).copy() for name in COLUMNS}
        for i, env in enumerate(self.envs):
            held = env.get_state()  # type: ignore[attr-defined]
            own |= {f"env/{i}/{key}": value for key, value in held.items()}
        return own

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `get_state` gave for the same number of lanes."""
        for name in COLUMNS:
            getattr(self, name)[:] = state[name]
        for i, env in enumerate(self.envs):
            prefix = f"env/{i}/"
            own = {key.removeprefix(prefix): v for key, v in state.items() if key.startswith(prefix)}
            env.set_state(own)  # type: ignore[attr-defined]

    def close(self) -> None:
        for env in self.envs:
            env.close()
