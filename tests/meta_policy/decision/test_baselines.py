from __future__ import annotations

import numpy as np
import pytest

from meta_policy.decision.baselines import (
    Always,
    Never,
    Periodic,
    QuantileThreshold,
    Random,
    ValueSpread,
    share_to_chance,
)
from meta_policy.evaluation.episodes import play
from meta_policy.loop import without_waiting
from meta_policy.moves import MoveSet
from tests.meta_policy.worlds import corridor_loop, executor, view, virtual_guide

MOVES = MoveSet(("cheap", "dear"), holds=(1, 5))
DEAR = MOVES.ask("dear", 5)
ALL = np.ones((1, len(MOVES)), np.bool_)
NONE = np.array([[True] + [False] * (len(MOVES) - 1)])


def test_never_acts_alone():
    assert Never().decide(view(), ALL).tolist() == [0]


def test_always_asks_where_it_may_and_never_where_it_may_not():
    assert Always(DEAR).decide(view(), ALL).tolist() == [DEAR]
    assert Always(DEAR).decide(view(), NONE).tolist() == [0]


def test_periodic_asks_at_the_first_step_and_then_at_every_nth():
    periodic = Periodic(DEAR, every=4)
    steps = [t for t in range(12) if periodic.decide(view(step=np.array([t])), ALL)[0] == DEAR]
    assert steps == [0, 4, 8]


def test_a_fractional_period_keeps_its_mean():
    periodic = Periodic(DEAR, every=2.5)
    asked = sum(periodic.decide(view(step=np.array([t])), ALL)[0] == DEAR for t in range(1000))
    assert asked == 400


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_random_asking_guides_the_share_it_was_made_for(share):
    loop = corridor_loop(virtual_guide(lanes=40), lanes=40, length=300)
    episodes = without_waiting(play(loop, Random(3, share_to_chance(share, hold=5)), range(40)))
    guided = sum(e.guided for e in episodes) / sum(e.steps for e in episodes)
    assert guided == pytest.approx(share, abs=0.03)


def test_share_0_never_asks_and_share_1_always_does():
    assert share_to_chance(0.0, hold=5) == 0.0
    assert share_to_chance(1.0, hold=5) == 1.0


def spread_asks(scale: float, policy_seed: int = 0, steps: int = 5000) -> float:
    """Share of steps with an ask at a target of 5 %, observations multiplied by `scale`."""
    policy = executor(seed=policy_seed)
    decider = ValueSpread(DEAR, share=0.05)
    rng, asked = np.random.default_rng(3), 0
    states = np.zeros((steps, 2))
    for t in range(1, steps):
        states[t] = 0.95 * states[t - 1] + 0.3 * rng.standard_normal(2)
    values = policy.values(scale * states)
    for t in range(steps):
        asked += decider.decide(view(values=values[:, t : t + 1]), ALL)[0] == DEAR
    return asked / steps


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_value_spread_keeps_its_rate_when_observations_are_rescaled(scale):
    assert 0.03 <= spread_asks(scale) <= 0.07


def test_value_spread_keeps_its_rate_when_the_critics_are_others():
    assert 0.03 <= spread_asks(1.0, policy_seed=9) <= 0.07


def test_the_threshold_follows_a_signal_that_changes_its_unit_under_way():
    threshold = QuantileThreshold(share=0.05)
    rng = np.random.default_rng(0)
    asked = []
    for scale in (1.0, 100.0, 0.01):
        asked += [threshold.exceeded(scale * rng.random(1))[0] for _ in range(4000)]
    late = [np.mean(asked[4000 * i + 1000 : 4000 * (i + 1)]) for i in range(3)]
    assert all(0.03 <= share <= 0.07 for share in late)


def test_value_spread_learns_nothing_from_rows_that_could_not_ask():
    decider = ValueSpread(DEAR, share=0.05)
    for _ in range(500):
        decider.decide(view(values=np.array([[1.0], [5.0], [9.0]])), NONE)
    assert np.isinf(decider.threshold.value)
