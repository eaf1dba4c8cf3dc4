"""The shipped query policies."""

from __future__ import annotations

import numpy as np
import pytest

from agents.query import ALONE, Advice, Always, Decision, EveryN, Never, StepContext


def context(episode_step: list[int], runway: list[int]) -> StepContext:
    n = len(episode_step)
    return StepContext(
        0,
        np.arange(n),
        np.zeros((n, 2)),
        np.zeros((n, 1), np.float32),
        np.array(episode_step),
        np.array(runway),
    )


def test_never_leaves_every_lane_alone() -> None:
    decision = Never().decide(context([0, 5], [0, 0]))
    assert decision.choice.tolist() == [ALONE, ALONE]
    assert not decision.asks.any()


def test_always_asks_where_nothing_is_held() -> None:
    decision = Always("p", hold=5).decide(context([0, 5, 9], [0, 3, 0]))
    assert decision.asks.tolist() == [True, False, True]
    assert decision.hold_steps.tolist() == [5, 0, 5]
    assert decision.providers == ("p",)


def test_every_n_counts_within_each_episode() -> None:
    decision = EveryN(4, "p", hold=2).decide(context([0, 3, 4, 8], [0, 0, 0, 0]))
    assert decision.asks.tolist() == [True, False, True, True]
    with pytest.raises(ValueError, match="n >= 1"):
        EveryN(0, "p", 1)


def test_a_decision_without_some_rows_holds_nothing_there() -> None:
    decision = Decision.ask(np.array([True, True]), "p", 3).without(np.array([True, False]))
    assert decision.choice.tolist() == [ALONE, 0]
    assert decision.hold_steps.tolist() == [0, 3]


def test_advice_without_some_rows_neither_acts_nor_costs_there() -> None:
    both = np.array([True, True])
    advice = Advice(both, np.ones((2, 1), np.float32), np.array([0.1, 0.2]), np.array([4, 5]))
    left = advice.without(np.array([True, False]))
    assert left.replaced.tolist() == [False, True]
    assert left.price_usd.tolist() == [0.0, 0.2]
    assert left.ask_id.tolist() == [0, 5]
