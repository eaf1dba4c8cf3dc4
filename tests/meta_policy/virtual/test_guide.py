from __future__ import annotations

import numpy as np

from meta_policy.guide import Exchange, Request
from meta_policy.loop import without_waiting
from meta_policy.virtual.guide import delay_steps
from tests.meta_policy.worlds import virtual_guide


def ask(guide, step: int, serves: int = 0, cancel: bool = False) -> Exchange:
    none = np.array([-1])
    request = Request(
        np.array([True]),
        np.array([step]),
        np.zeros((1, 2)),
        none,
        np.array([0]),
        np.array([serves]),
        np.array([cancel]),
    )
    return without_waiting(guide.exchange(request))


def begun(**told):
    guide = virtual_guide(**told)
    without_waiting(guide.begin(np.array([0]), np.array([1])))
    return guide


def test_an_answer_within_half_a_period_has_no_delay():
    assert delay_steps(np.array([0.0, 4.0]), period_ms=8.0).tolist() == [0, 0]


def test_later_answers_are_counted_in_whole_steps_from_the_middle_of_the_period():
    assert delay_steps(np.array([4.01, 12.0, 12.01, 20.0]), period_ms=8.0).tolist() == [1, 1, 2, 2]


def test_a_timely_answer_guides_the_step_it_was_asked_for():
    result = ask(begun(latency_ms=4.0), step=3)
    assert result.guided[0]
    assert result.action[0, 0] == 0.5
    assert result.provider[0] == 0
    assert result.latency_ms[0] == 4.0


def test_a_late_answer_is_dropped_where_no_age_is_allowed_but_it_is_charged():
    guide = begun(latency_ms=4.5)
    late = ask(guide, step=3)
    assert (bool(late.guided[0]), float(late.price_usd[0])) == (False, 2.0)
    assert not ask(guide, step=4, serves=-1).guided[0]


def test_a_late_answer_is_used_in_the_step_it_arrives_in_where_its_age_is_allowed():
    guide = begun(latency_ms=12.0, max_age_steps=1)
    assert not ask(guide, step=3).guided[0]
    assert ask(guide, step=4, serves=-1).guided[0]
    assert not ask(guide, step=5, serves=-1).guided[0]


def test_an_answer_older_than_allowed_is_never_used():
    guide = begun(latency_ms=20.0, max_age_steps=1)
    assert not any(ask(guide, step, serves=0 if step == 0 else -1).guided[0] for step in range(5))


def test_a_lease_of_three_steps_one_step_late_guides_three_steps_from_the_second_on():
    guide = begun(latency_ms=12.0, max_age_steps=1)
    guided = [bool(ask(guide, step, serves=0 if step < 3 else -1).guided[0]) for step in range(5)]
    assert guided == [False, True, True, True, False]


def test_what_was_on_its_way_when_a_lease_was_dropped_is_not_used():
    guide = begun(latency_ms=12.0, max_age_steps=1)
    ask(guide, step=0)
    assert not ask(guide, step=1, serves=-1, cancel=True).guided[0]


def test_an_answer_never_reaches_the_next_episode():
    guide = begun(latency_ms=12.0, max_age_steps=1)
    ask(guide, step=0)
    without_waiting(guide.end(np.array([0]), np.array([False])))
    without_waiting(guide.begin(np.array([0]), np.array([2])))
    assert not ask(guide, step=1, serves=-1).guided[0]


def test_blocking_waits_for_the_answer_and_says_how_long():
    result = ask(begun(latency_ms=30.0, regime="blocking"), step=0)
    assert (bool(result.guided[0]), float(result.wait_ms[0])) == (True, 30.0)


def test_realtime_never_waits():
    assert ask(begun(latency_ms=30.0), step=0).wait_ms[0] == 0.0


def test_a_scaled_latency_is_what_decides_and_what_the_table_shows():
    guide = begun(latency_ms=3.0)
    guide.rescale(np.array([2.0]), np.array([3.0]))
    assert guide.providers.p50_ms[0] == 6.0
    assert guide.providers.usd_per_step[0] == 6.0
    assert not ask(guide, step=0).guided[0]


def test_a_trace_is_replayed_in_its_order():
    guide = begun(latency_ms=[1.0, 2.0, 3.0])
    seen = [float(ask(guide, step).latency_ms[0]) for step in range(4)]
    assert seen[3] == seen[0]
    assert seen[1] == seen[0] % 3 + 1
