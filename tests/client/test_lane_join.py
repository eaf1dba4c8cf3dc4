"""Any order of arrival, with repeats and losses, ends in the same state."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.client.lane import (
    Held,
    Registers,
    action_for,
    candidates,
    executed,
    join,
    raise_generation,
    rank,
    runway_steps,
)
from agents.client.merge import merge_row
from protos.types import ActionAdvice, Answer, AnswerKind, Chunk, GuidanceKind, Merge


def held(
    step: int,
    kind: AnswerKind = AnswerKind.FINAL,
    seq: int = 0,
    chunk: int = 0,
    generation: int = 1,
    session: int = 1,
    arrived: int = 0,
    last: int | None = None,
) -> Held:
    """An action for `step`, or a chunk of so many rows from `step` on, whose values are its seq."""
    if chunk:
        guidance: Chunk | ActionAdvice = Chunk(np.full((1, chunk, 1), float(seq)), [step], 8_000)
    else:
        guidance = ActionAdvice(np.full((1, 1), float(seq)))
    answer = Answer(kind, ("p",), [0], [seq + 1], [1], [step], guidance=guidance)
    final = step + chunk - 1 if chunk else (step if last is None else last)
    place = rank(session, generation, step, kind, seq)
    of = GuidanceKind.CHUNK if chunk else GuidanceKind.ACTION
    return Held(place, of, answer, 0, step, final, arrived)


def joined(arrivals: list[Held], session: int = 1, generation: int = 1) -> Registers:
    state = Registers(session, generation)
    for one in arrivals:
        state = join(state, one)
    return state


def contents(state: Registers) -> object:
    chunks = [(one.rank, one.arrived_step) for one in state.chunks]
    return state[:2], state.action and state.action.rank, chunks, {k: v.rank for k, v in state.others.items()}


def recorded_run(draw: random.Random, count: int) -> list[Held]:
    """Answers of two sessions, two lane generations and all kinds, as they may have been sent."""
    kinds = (AnswerKind.PREDICTED, AnswerKind.FINAL, AnswerKind.CORRECTION)
    return [
        held(
            step=draw.randrange(7),
            kind=draw.choice(kinds),
            seq=seq,
            chunk=draw.choice((0, 0, 1, 3)),
            generation=draw.choice((1, 1, 2)),
            session=draw.choice((1, 1, 2)),
            arrived=draw.randrange(7),
        )
        for seq in range(count)
    ]


@settings(max_examples=300, deadline=None)
@given(count=st.integers(1, 24), seed=st.integers(0, 2**32))
def test_reordered_duplicated_and_dropped_answers_end_in_the_state_of_those_that_came(
    count: int, seed: int
) -> None:
    draw = random.Random(seed)
    run = recorded_run(draw, count)
    came = draw.choices(run, k=draw.randrange(1, 3 * count + 1))
    once = [one for one in run if any(one is other for other in came)]
    for session, generation in ((1, 1), (1, 2), (2, 1)):
        shuffled, in_order = joined(came, session, generation), joined(once, session, generation)
        assert contents(shuffled) == contents(in_order)


@settings(max_examples=200, deadline=None)
@given(count=st.integers(1, 24), seed=st.integers(0, 2**32))
def test_a_reset_in_the_middle_leaves_only_what_belongs_to_after_it(count: int, seed: int) -> None:
    draw = random.Random(seed)
    run = recorded_run(draw, count)
    shuffled = draw.sample(run, count)
    state = raise_generation(joined(shuffled[: draw.randrange(count + 1)]), 1, 2)
    for one in shuffled:
        state = join(state, one)
    assert contents(state) == contents(joined([one for one in run if one.rank[:2] == (1, 2)], 1, 2))


def test_a_duplicate_gives_back_the_very_same_state() -> None:
    state = joined([held(3, seq=1)])
    assert join(state, held(3, seq=1)) is state


def test_the_newer_observation_wins_although_it_comes_first() -> None:
    assert joined([held(5, seq=2), held(4, seq=1)]).action.step == 5


def test_final_replaces_predicted_of_the_same_step_and_not_the_other_way_round() -> None:
    final, predicted = held(4, AnswerKind.FINAL, seq=1), held(4, AnswerKind.PREDICTED, seq=2)
    assert joined([predicted, final]).action is final
    assert joined([final, predicted]).action is final


def test_a_correction_replaces_the_final_by_its_later_seq() -> None:
    final, correction = held(4, AnswerKind.FINAL, seq=1), held(4, AnswerKind.CORRECTION, seq=2)
    assert joined([correction, final]).action is correction


def test_the_second_chunk_after_a_reset_is_taken_and_the_first_is_not() -> None:
    before, after = held(50, seq=8, chunk=4, generation=1), held(0, seq=9, chunk=4, generation=2)
    state = raise_generation(joined([before]), 1, 2)
    state = join(join(state, before), after)
    assert [one.rank for one in state.chunks] == [after.rank]
    assert merge_row(candidates(state, 1), 1, Merge()).held is after


def test_a_new_session_is_never_given_an_answer_of_the_old_one() -> None:
    state = raise_generation(joined([held(3)]), 2, 1)
    assert state.action is None
    assert join(state, held(9, session=1)) is state


def test_the_generation_never_falls() -> None:
    state = Registers(2, 5)
    assert raise_generation(state, 2, 4) is state
    assert raise_generation(state, 1, 9) is state


def test_an_action_is_too_old_one_step_after_its_last() -> None:
    state = joined([held(4, last=6)])
    assert [action_for(state, step) is not None for step in (3, 4, 6, 7)] == [False, True, True, False]


def test_rows_of_a_chunk_go_by_count_of_executed_steps() -> None:
    state = joined([held(0, seq=1, chunk=3)])
    assert executed(state, 2) is state
    assert executed(state, 3).chunks == ()


def test_runway_counts_rows_without_a_gap() -> None:
    state = joined([held(0, seq=1, chunk=3), held(3, seq=2, chunk=2), held(6, seq=3, chunk=2)])
    assert [runway_steps(state, step) for step in (0, 4, 5, 6)] == [5, 1, 0, 2]
