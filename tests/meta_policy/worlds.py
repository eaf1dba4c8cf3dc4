"""Small worlds for the tests of the meta-policy: an executor of a few weights, a task of a few lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box

from agents.networks import MlpStack, StackShape, initialise
from agents.policy_file import FORMAT, Critics, Policy
from meta_policy.guide import Regime
from meta_policy.lanes import Lanes
from meta_policy.loop import Loop, Rules
from meta_policy.moves import MoveSet
from meta_policy.view import NEVER, LaneView, ProviderSnapshot
from meta_policy.virtual.guide import VirtualGuide, VirtualSource
from meta_policy.virtual.traces import Traces
from protos.types import ProviderState

READY = int(ProviderState.READY)


def executor(observations: int = 2, actions: int = 1, seed: int = 0, members: int = 3) -> Policy:
    """A policy with random weights and an ensemble."""
    rng = np.random.default_rng(seed)
    return Policy(
        _stack(1, (observations, 8, actions), rng),
        np.zeros(actions, np.float32),
        np.zeros(observations),
        np.ones(observations),
        10.0,
        np.full(actions, -1, np.float32),
        np.full(actions, 1, np.float32),
        {
            "format": FORMAT,
            "action": {"low": [-1.0] * actions, "high": [1.0] * actions},
            "normaliser": {"clip": 10.0},
            "critics": {"prior_scale": 1.0, "return_scale": 2.0, "gamma": 0.99},
        },
        Critics(
            _stack(members, (observations, 8, 1), rng),
            _stack(members, (observations, 8, 1), rng),
            prior_scale=1.0,
            return_scale=2.0,
            gamma=0.99,
        ),
    )


def _stack(members: int, sizes: tuple[int, ...], rng: np.random.Generator) -> MlpStack:
    shape = StackShape(members, sizes)
    stack = MlpStack(shape, np.zeros(shape.parameters, np.float32))
    initialise(stack, rng, head_gain=1.0)
    return stack


class Corridor:
    """Observation (step, seed); the reward is the action; ends after `length` steps, cut short at `cut`."""

    def __init__(self, length: int = 12, cut: int | None = None) -> None:
        self.length, self.cut = length, cut
        self.observation_space = Box(-np.inf, np.inf, (2,))
        self.action_space = Box(-1.0, 1.0, (1,))
        self.step_count, self.seed = 0, 0

    def reset(self, *, seed: int | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        self.step_count, self.seed = 0, seed or 0
        return self._seen(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.step_count += 1
        over = self.step_count >= self.length
        cut = self.cut is not None and self.step_count >= self.cut
        return self._seen(), float(action[0]), over, cut, {}

    def get_state(self) -> dict[str, np.ndarray]:
        return {"held": np.array([self.step_count, self.seed])}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        self.step_count, self.seed = state["held"].tolist()

    def close(self) -> None:
        pass

    def _seen(self) -> np.ndarray:
        return np.array([self.step_count, self.seed % 7], np.float64)


def traces(**latency_ms: float | list[float]) -> Traces:
    """One trace a provider."""
    told = {name: np.atleast_1d(np.asarray(ms, np.float64)) for name, ms in latency_ms.items()}
    return Traces("corridor", told, "made up")


def virtual_guide(
    latency_ms: float | list[float] = 1.0,
    lanes: int = 1,
    regime: Regime = "realtime",
    max_age_steps: int = 0,
    period_ms: float = 8.0,
) -> VirtualGuide:
    """One source, `half`, that always answers 0.5 at 2 USD a step."""
    source = VirtualSource("half", lambda rows: np.full((len(rows), 1), 0.5, np.float32), 2.0)
    replayed = traces(half=latency_ms)
    return VirtualGuide([source], replayed, lanes, 1, period_ms, regime, max_age_steps)


def corridor_loop(guide: VirtualGuide, lanes: int = 1, length: int = 12, **rules: Any) -> Loop:
    """A loop over corridors with the source `half` and holds 1 and 5."""
    world = Lanes(lambda: Corridor(length), lanes)
    moves = MoveSet(("half",), holds=(1, 5))
    return Loop(world, executor(), guide, moves, Rules(guide.period_ms, **rules))


def snapshot(**changes: Any) -> ProviderSnapshot:
    """Two providers, `cheap` and `dear`, 0.5 and 2 USD a leased step."""
    two = np.ones(2)
    table = {
        "ids": ("cheap", "dear"),
        "usd_per_ask": np.zeros(2),
        "usd_per_step": np.array([0.5, 2.0]),
        "p50_ms": two,
        "p95_ms": 2 * two,
        "p99_ms": 3 * two,
        "state": np.full(2, READY),
        "queued": np.zeros(2, np.int64),
    }
    return ProviderSnapshot(**{**table, **changes})


def view(lanes: int = 1, **changes: Any) -> LaneView:
    """Lanes at the start of their episodes, before the table of `snapshot`."""
    never, none = np.full(lanes, NEVER), np.full(lanes, -1)
    columns: dict[str, Any] = {
        "active": np.ones(lanes, np.bool_),
        "step": np.zeros(lanes, np.int64),
        "observation": np.zeros((lanes, 2)),
        "seen": np.zeros((lanes, 2), np.float32),
        "own_action": np.zeros((lanes, 1), np.float32),
        "values": np.ones((3, lanes)),
        "entropy": np.zeros(lanes),
        "providers": snapshot(),
        "period_ms": 8.0,
        "lease_provider": none,
        "lease_left": np.zeros(lanes, np.int64),
        "lease_age": np.zeros(lanes, np.int64),
        "last_provider": none,
        "last_age": never,
        "origin": none,
        "since_switch": never,
        "budget_left": np.full(lanes, np.inf),
        "beta": np.ones(lanes),
        "rng": np.random.default_rng(0),
    }
    return LaneView(**{**columns, **changes})
