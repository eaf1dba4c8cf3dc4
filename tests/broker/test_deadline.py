"""A request's clocks, computed in one place."""

import pytest

from broker.deadline import ClockRules, Deadlines, session_deadlines, unary_deadlines
from protos.types import AskOptions

RULES = ClockRules(first_default_ms=5000, first_cap_ms=5000, unary_default_ms=5000)
TEN_YEARS_S = 315_360_000.0


@pytest.mark.parametrize(
    ("first_ms", "final_ms", "expected"),
    [
        (None, None, Deadlines(105.0, 160.0)),
        (200, 1000, Deadlines(100.2, 101.0)),
        (9000, 90_000, Deadlines(105.0, 160.0)),
        (2000, 500, Deadlines(100.5, 100.5)),
    ],
)
def test_a_session_s_ask_has_two_clocks_with_defaults_and_caps(first_ms, final_ms, expected):
    options = AskOptions(first_answer_by_ms=first_ms, final_by_ms=final_ms)
    assert session_deadlines(100.0, options, RULES, final_cap_ms=60_000) == expected


@pytest.mark.parametrize(
    ("final_ms", "left_s", "ends_at"),
    [
        (None, None, 105.0),
        (None, 2.0, 102.0),
        (1000, 2.0, 101.0),
        (3000, 2.0, 102.0),
        (None, TEN_YEARS_S, 160.0),
        (1000, TEN_YEARS_S, 101.0),
        (None, -0.5, 100.0),
    ],
)
def test_a_unary_call_has_one_clock_and_never_none_at_all(final_ms, left_s, ends_at):
    deadlines = unary_deadlines(100.0, AskOptions(final_by_ms=final_ms), RULES, 60_000, left_s)
    assert deadlines == Deadlines(ends_at, ends_at)
