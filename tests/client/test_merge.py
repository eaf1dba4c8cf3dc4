"""Which row a lane executes where chunks overlap."""

from __future__ import annotations

import numpy as np
import pytest

from agents.client.lane import Held, rank
from agents.client.merge import merge_row
from protos.types import Answer, AnswerKind, Chunk, GuidanceKind, Merge, MergeRule


def chunk(step: int, value: float, rows: int = 4, arrived: int = 0, dims: tuple[bool, ...] = ()) -> Held:
    """`rows` rows of `[value, value]` from `step` on."""
    guidance = Chunk(np.full((1, rows, 2), value), [step], 8_000, valid_dims=dims)
    answer = Answer(AnswerKind.FINAL, ("p",), [0], [1], [1], [step], guidance=guidance)
    place = rank(1, 1, step, AnswerKind.FINAL, step)
    return Held(place, GuidanceKind.CHUNK, answer, 0, step, step + rows - 1, arrived)


OLD, NEW = chunk(0, 0.0), chunk(2, 1.0)


def action(rule: Merge, step: int, *chunks: Held, blend: tuple[bool, ...] = ()) -> list[float]:
    covering = [one for one in chunks if one.covers(step)]
    return merge_row(covering, step, rule, blend).action.tolist()


def test_replace_tail_takes_the_newer_chunk_at_once() -> None:
    assert action(Merge(), 1, OLD, NEW) == [0.0, 0.0]
    assert action(Merge(), 2, OLD, NEW) == [1.0, 1.0]


def test_finish_first_executes_the_older_chunk_to_its_end() -> None:
    rule = Merge(MergeRule.FINISH_FIRST)
    assert [action(rule, step, OLD, NEW)[0] for step in (2, 3, 4, 5)] == [0.0, 0.0, 1.0, 1.0]


def test_crossfade_of_one_step_is_half_and_then_all_of_the_newer() -> None:
    rule = Merge(MergeRule.CROSSFADE, crossfade_steps=1)
    assert [action(rule, step, OLD, NEW)[0] for step in (2, 3)] == [0.5, 1.0]


def test_a_crossfade_begins_where_the_newer_chunk_arrived_not_where_it_was_asked_for() -> None:
    rule, late = Merge(MergeRule.CROSSFADE, crossfade_steps=3), chunk(0, 1.0, 8, arrived=4)
    old = chunk(-1, 0.0, 9)
    assert [action(rule, step, old, late)[0] for step in (4, 5, 6, 7)] == [0.25, 0.5, 0.75, 1.0]


def test_weighted_mixes_wherever_the_chunks_overlap() -> None:
    rule = Merge(MergeRule.WEIGHTED, weight=0.25)
    assert [action(rule, step, OLD, NEW)[0] for step in (1, 2, 3, 4)] == [0.0, 0.25, 0.25, 1.0]


def test_weight_one_equals_replace_tail() -> None:
    for step in range(6):
        assert action(Merge(MergeRule.WEIGHTED, weight=1.0), step, OLD, NEW) == action(
            Merge(), step, OLD, NEW
        )


@pytest.mark.parametrize("rule", [Merge(MergeRule.WEIGHTED, weight=0.5), Merge(MergeRule.CROSSFADE, 1)])
def test_a_dimension_masked_out_of_blending_is_the_newer_one_s_alone(rule: Merge) -> None:
    assert action(rule, 2, OLD, NEW, blend=(True, False)) == [0.5, 1.0]


def test_dimensions_that_the_newer_source_does_not_give_stay_the_older_one_s() -> None:
    gripper_only = chunk(2, 1.0, dims=(False, True))
    assert action(Merge(), 2, OLD, gripper_only) == [0.0, 1.0]


def test_a_dimension_nobody_gave_is_marked() -> None:
    row = merge_row([chunk(2, 1.0, dims=(False, True))], 2, Merge())
    assert row.dims.tolist() == [False, True]


def test_no_chunk_is_no_action() -> None:
    assert merge_row([], 3, Merge()) is None
