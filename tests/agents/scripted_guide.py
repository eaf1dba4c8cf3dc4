"""A guide that follows a script, and a small environment that costs nothing to step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from agents.query import Advice, Amendment, Decision, StepContext
from agents.vector import VectorStep


class Drift(gymnasium.Env[np.ndarray, np.ndarray]):
    """A point drifts on a line; the reward is `scale` times minus its distance from 0; ends by time limit.

    It ends truly when it leaves [-3, 3]. Saved and restored whole.
    """

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, scale: float = 1.0, limit: int = 40) -> None:
        self.scale, self.limit = scale, limit
        self.state = np.zeros(2)
        self.elapsed = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-1.0, 1.0, 2) * (1.0, 0.1)
        self.elapsed = 0
        return self.state.copy(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.state[1] = 0.9 * self.state[1] + 0.2 * float(action[0])
        self.state[0] += self.state[1]
        self.elapsed += 1
        gone = abs(self.state[0]) > 3.0
        reward = self.scale * (1.0 - abs(self.state[0]))
        return self.state.copy(), reward, gone, self.elapsed >= self.limit, {}

    def get_state(self) -> dict[str, np.ndarray]:
        return {"state": self.state.copy(), "elapsed": np.asarray(self.elapsed)}

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.state, self.elapsed = np.array(state["state"]), int(state["elapsed"])


@dataclass
class ScriptedGuide:
    """Answers each ask at once: `advise` makes advice of the rows that are held, `reward` pays for steps.

    An ask's id is its number, from 1; it holds as long as the decision says and costs `price` at once.
    """

    lanes: int
    advise: Callable[[StepContext, Advice], Advice] = lambda context, advice: advice
    reward: Callable[[StepContext, VectorStep], NDArray[np.float64]] | None = None
    price: float = 0.01
    late: list[Amendment] = field(default_factory=list)
    asked: list[tuple[int, int]] = field(default_factory=list)  # (vector step, lane)

    def __post_init__(self) -> None:
        self.left = np.zeros(self.lanes, np.int64)
        self.ask_id = np.zeros(self.lanes, np.int64)
        self.paid = np.zeros(self.lanes)

    def runway_steps(self) -> NDArray[np.int64]:
        return self.left.copy()

    def submit(self, context: StepContext, decision: Decision) -> None:
        for lane in np.flatnonzero(decision.asks):
            self.asked.append((context.step, int(lane)))
            self.ask_id[lane] = len(self.asked)
            self.left[lane] = decision.hold_steps[lane]
            self.paid[lane] = self.price

    def collect(self, context: StepContext) -> Advice:
        held = self.left > 0
        plain = Advice(
            np.zeros(self.lanes, np.bool_),
            np.zeros_like(context.own_action),
            self.paid.copy(),
            np.where(held, self.ask_id, 0),
        )
        self.paid[:] = 0.0
        return self.advise(context, plain)

    def after_step(self, context: StepContext, outcome: VectorStep) -> NDArray[np.float64]:
        self.left = np.where(outcome.done, 0, np.maximum(self.left - 1, 0))
        return np.zeros(self.lanes) if self.reward is None else self.reward(context, outcome)

    def amendments(self) -> list[Amendment]:
        answers, self.late = self.late, []
        return answers
