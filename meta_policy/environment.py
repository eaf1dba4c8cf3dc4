"""The decision to ask as a Gymnasium environment: one lane, one env step from one decision to the next.

Any library that knows discrete actions can train on it; `action_masks()` is what maskable learners look for.
A move that takes n control steps returns the reward sum_i gamma^i u_i of its utilities and `info["discount"]`
= gamma^n, the factor for the value of where it led: a semi-MDP (Sutton, Precup and Singh 1999). Answers
arrive after real control steps of a virtual clock; nothing waits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from meta_policy import places
from meta_policy.guide import Regime
from meta_policy.loop import without_waiting
from meta_policy.moves import ALONE
from meta_policy.presets import costs_of, preset_of
from meta_policy.seeds import TRAINING
from meta_policy.training.rollout import utility_of
from meta_policy.training.training import features_for
from meta_policy.view import Counts, Flags, LaneView
from meta_policy.virtual.traces import traces_for
from meta_policy.virtual.world import virtual_loop


class AskEnv(gymnasium.Env):  # type: ignore[type-arg]
    """Whether and whom to ask, over a frozen executor. Observations are `[F]` features, actions moves `[M]`.

    `reset(options={"beta": 2.0})` fixes beta, else it is drawn from the preset's range; a seed fixes the
    task's episode too. An illegal action is played as ALONE and marked `info["illegal"]`.
    """

    def __init__(
        self, task: str, executor_seed: int = 1, regime: Regime = "realtime", executors: Path | None = None
    ) -> None:
        self.preset = preset_of(task)
        folder = executors or places.executors(self.preset, executor_seed)
        traces = traces_for(self.preset, places.traces(self.preset, self.preset.period_ms))
        self.loop, self.guide = virtual_loop(self.preset, folder, traces, lanes=1, regime=regime)
        self.costs = costs_of(self.preset, regime)
        self.features = features_for(self.loop, self.preset)
        self.action_space = Discrete(len(self.loop.moves))
        self.observation_space = Box(-np.inf, np.inf, (len(self.features),), np.float32)
        self._legal: Flags = np.zeros((1, len(self.loop.moves)), np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        low, high = np.log(self.preset.betas)
        beta = (options or {}).get("beta", float(np.exp(self.np_random.uniform(low, high))))
        episode = self.np_random.integers(TRAINING.start, TRAINING.stop, size=1)
        without_waiting(self.loop.begin(np.array([0]), episode, np.array([beta])))
        observation, info = self._look()
        return observation, {**info, "beta": beta}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play one move and every step it forces."""
        illegal = not self._legal[0, int(action)]
        move = ALONE if illegal else int(action)
        total, discount, raw, steps = 0.0, 1.0, 0.0, 0
        while True:
            record = without_waiting(self.loop.step(Given(move)))
            total += discount * float(utility_of(record, self.costs)[0])
            raw += float(record.reward[0])
            discount *= self.preset.gamma
            steps += 1
            observation, info = self._look()
            if record.done[0] or self._legal[0].sum() > 1:
                break
            move = ALONE
        told = {**info, "discount": discount, "steps": steps, "reward": raw, "illegal": illegal}
        return observation, total, bool(record.terminated[0]), bool(record.truncated[0]), told

    def action_masks(self) -> NDArray[np.bool_]:
        """Which moves are legal now, `[M]`."""
        return self._legal[0].copy()

    def close(self) -> None:
        self.loop.lanes.close()

    def _look(self) -> tuple[NDArray[np.float32], dict[str, Any]]:
        view, rules = self.loop.look(), self.loop.rules
        self._legal = self.loop.moves.mask(view, rules.dwell, rules.review_every)
        return self.features(view)[0], {"action_mask": self.action_masks().astype(np.int8)}


class Given:
    """A decider that plays what it was told."""

    def __init__(self, move: int) -> None:
        self.move = move

    def decide(self, view: LaneView, legal: Flags) -> Counts:
        return np.array([self.move])
