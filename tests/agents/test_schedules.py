"""Schedules: where they are in the middle, at the end, past it, and after a resume."""

from __future__ import annotations

import pytest

from agents.schedules import Constant, Exponential, Linear


def test_a_linear_schedule_is_where_the_step_says_and_ends_exactly() -> None:
    weight = Linear(1.0, 0.0, 100_000)
    assert weight.at(0) == 1.0
    assert weight.at(40_000) == 0.6
    assert weight.at(100_000) == 0.0
    assert weight.at(140_000) == 0.0


def test_a_linear_schedule_never_falls_below_its_end_nor_starts_above_its_start() -> None:
    weight = Linear(1.0, 0.0, 100_000)
    assert min(weight.at(step) for step in range(0, 200_000, 777)) == 0.0
    assert weight.at(-5) == 1.0


def test_a_schedule_made_anew_at_a_resume_is_continuous() -> None:
    before, after = Linear(3e-4, 0.0, 100_000), Linear(3e-4, 0.0, 100_000)
    assert before.at(40_000) == after.at(40_000)
    assert abs(after.at(40_001) - before.at(40_000)) < 1e-8


def test_constant_and_exponential_by_numbers() -> None:
    assert Constant(0.2).at(10**9) == 0.2
    assert Exponential(1.0, 0.5, 10).at(20) == 0.25
    assert Exponential(1.0, 0.5, 10).at(-1) == 1.0


@pytest.mark.parametrize("make", [lambda: Linear(1, 0, 0), lambda: Exponential(1, 1.5, 10)])
def test_impossible_schedules_are_refused(make: object) -> None:
    with pytest.raises(ValueError):
        make()  # type: ignore[operator]
