"""The filter on every executed action."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.client.constraints import FREE, Envelope, constrain, forget, put, stop
from protos.types import Constraints, HalfSpace

BOX = Constraints(low=(-1.0, -0.5), high=(1.0, 0.5), ttl_ms=1_000, source="task")
SAFE = Constraints(low=(-1.0, -1.0), high=(1.0, 1.0), safe_action=(0.25, 0.0), ttl_ms=1_000, source="task")


def envelope(*constraints: Constraints, generation: int = 1) -> Envelope:
    state = FREE
    for one in constraints:
        state = put(state, one, generation)
    return state


def test_a_lane_never_constrained_is_never_restricted() -> None:
    wild = np.array([1e9, np.nan])
    action, verdict = constrain(FREE, wild, silence_s=1e9)
    assert action is wild
    assert not verdict.changed
    assert not verdict.expired


def test_an_action_inside_comes_back_as_the_same_object() -> None:
    inside = np.array([0.5, 0.5], np.float32)
    assert constrain(envelope(BOX), inside, 0.0)[0] is inside


def test_an_action_outside_is_moved_to_the_bound_in_its_own_dtype() -> None:
    action, verdict = constrain(envelope(BOX), np.array([2.0, -3.0], np.float32), 0.0)
    assert action.tolist() == [1.0, -0.5]
    assert action.dtype == np.float32
    assert verdict.clipped


def test_a_half_space_is_projected_onto_at_the_nearest_point() -> None:
    plane = Constraints(half_spaces=(HalfSpace((1.0, 1.0), 1.0),), source="plane")
    action, verdict = constrain(envelope(plane), np.array([1.0, 1.0]), 0.0)
    assert action.tolist() == pytest.approx([0.5, 0.5])
    assert verdict.clipped


@settings(max_examples=80, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3), st.floats(-0.5, 1.0))
def test_what_is_executed_satisfies_box_and_half_space_together(values: list[float], offset: float) -> None:
    both = Constraints(
        low=(-1.0,) * 3, high=(1.0,) * 3, half_spaces=(HalfSpace((1.0, 2.0, -1.0), offset),), source="both"
    )
    action, verdict = constrain(envelope(both), np.array(values), 0.0)
    assert not verdict.infeasible
    assert np.abs(action).max() <= 1.0
    assert action @ np.array([1.0, 2.0, -1.0]) <= offset + 1e-6


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=2), st.integers(0, 2**16))
def test_the_projection_is_nearer_than_any_other_allowed_point(values: list[float], seed: int) -> None:
    planes = (HalfSpace((1.0, 1.0), 0.5), HalfSpace((1.0, -2.0), 0.25))
    both = Constraints(low=(-1.0,) * 2, high=(1.0,) * 2, half_spaces=planes, source="both")
    action, _ = constrain(envelope(both), np.array(values), 0.0)
    others = np.random.default_rng(seed).uniform(-1, 1, (200, 2))
    allowed = others[(others @ np.array([[1, 1], [1, -2]]).T <= [0.5, 0.25]).all(axis=1)]
    assert max(action @ [1, 1] - 0.5, action @ [1, -2] - 0.25) <= 1e-6
    assert np.linalg.norm(action - values) <= np.linalg.norm(allowed - values, axis=1).min() + 1e-6


def test_several_sources_bind_together_by_their_tightest() -> None:
    other = Constraints(low=(0.0, -1.0), high=(2.0, 0.25), source="operator")
    action, _ = constrain(envelope(BOX, other), np.array([-9.0, 9.0]), 0.0)
    assert action.tolist() == [0.0, 0.25]


def test_contradictory_constraints_give_the_safe_action_if_one_is_declared() -> None:
    other = Constraints(low=(2.0, 2.0), high=(3.0, 3.0), source="operator")
    action, verdict = constrain(envelope(SAFE, other), np.zeros(2), 0.0)
    assert action.tolist() == [0.25, 0.0]
    assert verdict.infeasible
    assert verdict.safe_action


def test_contradictory_constraints_without_a_safe_action_are_flagged() -> None:
    other = Constraints(low=(2.0, 2.0), high=(3.0, 3.0), source="operator")
    action, verdict = constrain(envelope(BOX, other), np.zeros(2), 0.0)
    assert action.tolist() == [0.0, 0.0]
    assert verdict.infeasible
    assert not verdict.safe_action


def test_half_spaces_that_exclude_each_other_are_contradictory() -> None:
    apart = Constraints(half_spaces=(HalfSpace((1.0, 0.0), -1.0), HalfSpace((-1.0, 0.0), -1.0)), source="x")
    assert constrain(envelope(apart), np.zeros(2), 0.0)[1].infeasible


def test_an_action_that_is_not_finite_is_replaced_by_the_safe_one() -> None:
    action, verdict = constrain(envelope(SAFE), np.array([np.nan, 0.0]), 0.0)
    assert action.tolist() == [0.25, 0.0]
    assert verdict.infeasible


def test_constraints_hold_for_their_time_and_then_the_safe_action_stands_in() -> None:
    state = envelope(SAFE)
    assert constrain(state, np.array([9.0, 0.0]), silence_s=0.9)[0].tolist() == [1.0, 0.0]
    action, verdict = constrain(state, np.array([9.0, 0.0]), silence_s=1.1)
    assert action.tolist() == [0.25, 0.0]
    assert verdict.expired
    assert verdict.safe_action


def test_after_their_time_the_own_action_is_taken_and_flagged_where_no_safe_one_is_declared() -> None:
    action, verdict = constrain(envelope(BOX), np.array([9.0, 0.0]), silence_s=1.1)
    assert action.tolist() == [9.0, 0.0]
    assert verdict.expired
    assert not verdict.changed


def test_a_stop_executes_the_safe_action_and_its_release_frees() -> None:
    stopped = stop(envelope(SAFE), True)
    action, verdict = constrain(stopped, np.ones(2), 0.0)
    assert action.tolist() == [0.25, 0.0]
    assert verdict.stopped
    assert constrain(stop(stopped, False), np.ones(2), 0.0)[0].tolist() == [1.0, 1.0]


def test_a_stop_without_a_safe_action_says_so_and_gives_zero() -> None:
    action, verdict = constrain(stop(FREE, True), np.ones(2), 0.0)
    assert action.tolist() == [0.0, 0.0]
    assert verdict.stopped
    assert not verdict.safe_action


def test_a_stop_outlives_the_silence_of_the_broker() -> None:
    assert constrain(stop(envelope(SAFE), True), np.ones(2), silence_s=1e6)[1].stopped


def test_a_lower_version_never_replaces_a_higher_one() -> None:
    new = Constraints(low=(0.0, 0.0), version=2, source="task")
    old = Constraints(low=(-1.0, -1.0), version=1, source="task")
    assert envelope(new, old).hard.low.tolist() == [0.0, 0.0]
    assert envelope(old, new).hard.low.tolist() == [0.0, 0.0]


def test_the_first_word_of_a_new_session_replaces_all_of_the_old_one_s_whatever_its_version() -> None:
    old = envelope(Constraints(low=(0.0,), version=9, source="task"), Constraints(high=(1.0,), source="op"))
    state = put(old, Constraints(low=(-1.0,), version=1, source="task"), 2)
    assert state.hard.low.tolist() == [-1.0]
    assert state.hard.high is None


def test_what_an_ended_session_pushed_can_be_forgotten() -> None:
    assert forget(envelope(BOX, generation=1), 1).empty
    assert not forget(envelope(BOX, generation=2), 1).empty


def test_soft_constraints_cost_but_do_not_move() -> None:
    soft = Constraints(low=(-1.0,), high=(1.0,), hard=False, penalty_weight=2.0, source="soft")
    action, verdict = constrain(envelope(soft), np.array([1.5]), 0.0)
    assert action.tolist() == [1.5]
    assert verdict.penalty == 1.0


def test_a_masked_discrete_action_gives_way_to_the_first_allowed() -> None:
    mask = Constraints(allowed=(False, True, True), source="task")
    action, verdict = constrain(envelope(mask), np.asarray(5), 0.0, start=5)
    assert int(action) == 6
    assert verdict.masked
    assert int(constrain(envelope(mask), np.asarray(7), 0.0, start=5)[0]) == 7


def test_a_mask_that_allows_nothing_is_infeasible() -> None:
    assert constrain(envelope(Constraints(allowed=(False, False), source="t")), np.asarray(0), 0.0)[
        1
    ].infeasible
