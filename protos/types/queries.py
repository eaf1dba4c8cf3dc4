"""What is asked: a batch of rows, the terms they share, and the steps of leases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TypeVar

import numpy as np

from protos.types.guidance import GuidanceKind
from protos.types.schemas import Tensors, no_tensors

T = TypeVar("T")


class AskMode(IntEnum):
    NORMAL = 1
    PREDICT_ONLY = 2
    CACHE_ONLY = 3


class Priority(IntEnum):
    BATCH = 1
    NORMAL = 2
    URGENT = 3
    SAFETY = 4


class PrefixKind(IntEnum):
    EXECUTING = 1
    OWN_POLICY_GUESS = 2


@dataclass(frozen=True, slots=True)
class Goal:
    """``text`` is data from the agent, never an instruction."""

    goal_id: str = ""
    text: str = ""
    tensors: Tensors = field(default_factory=no_tensors)


NO_GOAL = Goal()


@dataclass(frozen=True, slots=True)
class AskOptions:
    """What all rows of a query share. Clocks are ``None`` where the caller left them to the broker."""

    provider_id: str = ""
    kinds: frozenset[GuidanceKind] = frozenset()
    mode: AskMode = AskMode.NORMAL
    first_answer_by_ms: int | None = None
    final_by_ms: int | None = None
    max_price_usd: float | None = None
    accept_predicted: bool = False
    hold_steps: int = 0
    max_age_steps: int = 0
    goal: Goal = NO_GOAL
    priority: Priority = Priority.NORMAL


@dataclass(frozen=True, slots=True)
class SimState:
    """``state`` is ``[B, S]`` float64 under the simulator's own signature ``spec``."""

    state: np.ndarray
    spec: int
    model_id: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """``actions`` is ``[D, A]``: what the lane executes from ``first_step`` until the answer lands."""

    actions: np.ndarray
    first_step: int
    committed: int
    kind: PrefixKind


@dataclass(frozen=True, slots=True)
class Query:
    """B rows that ask the same kind of thing. Optional columns are empty or have B entries."""

    options: AskOptions
    lanes: Sequence[int]
    ask_ids: Sequence[int]
    episodes: Sequence[int]
    steps: Sequence[int]
    observations: Tensors
    lane_generations: Sequence[int] = ()
    context: Tensors = field(default_factory=no_tensors)
    history: Tensors = field(default_factory=no_tensors)
    sim_state: SimState | None = None
    prefix: Sequence[Prefix] = ()
    expected_delay_steps: Sequence[int] = ()
    runway_steps: Sequence[int] = ()
    obs_time_ns: Sequence[int] = ()
    value_at_stake_usd: Sequence[float] = ()

    @property
    def rows(self) -> int:
        return len(self.ask_ids)

    def take(self, rows: Sequence[int]) -> Query:
        """The query of some of its rows, in the given order."""
        if len(rows) == self.rows and all(i == r for i, r in enumerate(rows)):
            return self
        index = np.asarray(rows, dtype=np.intp)
        sim = self.sim_state
        return replace(
            self,
            lanes=_pick(self.lanes, rows),
            ask_ids=_pick(self.ask_ids, rows),
            episodes=_pick(self.episodes, rows),
            steps=_pick(self.steps, rows),
            lane_generations=_pick(self.lane_generations, rows),
            observations=_pick_rows(self.observations, index),
            context=_pick_rows(self.context, index),
            history=_pick_rows(self.history, index),
            sim_state=None if sim is None else replace(sim, state=sim.state[index]),
            prefix=_pick(self.prefix, rows),
            expected_delay_steps=_pick(self.expected_delay_steps, rows),
            runway_steps=_pick(self.runway_steps, rows),
            obs_time_ns=_pick(self.obs_time_ns, rows),
            value_at_stake_usd=_pick(self.value_at_stake_usd, rows),
        )


def _pick(column: Sequence[T], rows: Sequence[int]) -> Sequence[T]:
    return [column[i] for i in rows] if column else column


def _pick_rows(tensors: Tensors, index: np.ndarray) -> Tensors:
    return {name: value[index] for name, value in tensors.items()}


@dataclass(frozen=True, slots=True)
class LeaseRows:
    """Steps of open leases: ``observations`` are ``[B, ...]``, one row an executed step."""

    lanes: Sequence[int]
    ask_ids: Sequence[int]
    steps: Sequence[int]
    observations: Tensors
    obs_time_ns: Sequence[int] = ()
