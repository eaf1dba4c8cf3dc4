"""The columns of an ask: what every row has, what a caller may add, and what is filled in for him."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np

from agents.client.lanes import Lane
from agents.client.rows import integers, tensors
from protos.types import NO_TENSORS, AskOptions, Prefix, Query, SimState, TensorSpec

Specs = Mapping[str, TensorSpec]


class Columns(TypedDict, total=False):
    """Optional columns, one entry a row.

    ask_ids: to ask again what may have been lost; the broker runs and charges the same id once. context,
    history: `[B, ...]` and `[B, T, ...]`. prefix and expected_delay_steps are filled in for providers that
    read a prefix, runway_steps always.
    """

    ask_ids: Iterable[int]
    context: Mapping[str, Any]
    history: Mapping[str, Any]
    sim_state: SimState
    prefix: Sequence[Prefix]
    expected_delay_steps: Iterable[int]
    runway_steps: Iterable[int]
    value_at_stake_usd: Sequence[float]


def build_query(
    lanes: Sequence[Lane],
    steps: Sequence[int],
    ask_ids: Sequence[int],
    observations: Mapping[str, Any],
    options: AskOptions,
    columns: Columns,
    specs: tuple[Specs, Specs],
) -> Query:
    """`specs` are the declared observations and context. Raises ValueError for columns that do not fit."""
    numbers, episodes, generations, runway = [], [], [], []
    for lane, step in zip(lanes, steps, strict=True):
        numbers.append(lane.number)
        episodes.append(lane.require_episode())
        generations.append(lane.generation)
        runway.append(lane.runway_steps(step))
    query = Query(
        options=options,
        lanes=numbers,
        ask_ids=ask_ids,
        episodes=episodes,
        steps=steps,
        observations=tensors(observations, specs[0], len(numbers)),
        lane_generations=generations,
        runway_steps=runway,
        obs_time_ns=[time.monotonic_ns()] * len(numbers),
    )
    return _with(columns, query, specs[1]) if columns else query


def _with(columns: Columns, query: Query, context_specs: Specs) -> Query:
    """The columns that a caller has added, or says better than we do."""
    rows = query.rows
    context, history = columns.get("context"), columns.get("history")
    return replace(
        query,
        context=tensors(context, context_specs, rows, "context") if context else NO_TENSORS,
        history={name: np.array(value) for name, value in history.items()} if history else NO_TENSORS,
        sim_state=columns.get("sim_state"),
        prefix=columns.get("prefix", ()),
        expected_delay_steps=integers(columns.get("expected_delay_steps", ()), "expected_delay_steps"),
        runway_steps=integers(columns.get("runway_steps", query.runway_steps), "runway_steps", rows),
        value_at_stake_usd=columns.get("value_at_stake_usd", ()),
    )
