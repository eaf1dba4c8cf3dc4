from __future__ import annotations

import logging

import pytest

from meta_policy.decision.baselines import Never, Periodic, ValueSpread
from meta_policy.decision.fallback import unless_collapsed
from meta_policy.evaluation import arms
from meta_policy.presets import preset_of
from tests.meta_policy.worlds import executor


def test_a_healthy_ensemble_keeps_its_decider():
    decider = Never()
    assert unless_collapsed(decider, executor(members=5), move=3, every=10) is decider


def test_an_ensemble_that_cannot_disagree_falls_back_to_a_fixed_rate_and_says_so(caplog):
    own = collapsed()
    with caplog.at_level(logging.WARNING):
        decider = unless_collapsed(Never(), own, move=3, every=10)
    assert decider == Periodic(3, 10)
    assert "ensemble_collapsed" in caplog.text


def collapsed():
    own = executor(members=5)
    own.critics.functions.rows[:] = own.critics.functions.rows[0]
    own.critics.priors.rows[:] = own.critics.priors.rows[0]
    return own


def test_a_method_that_reads_doubt_is_played_by_the_fallback_where_there_is_none():
    preset = preset_of("PerturbedHopper")
    spread = arms.matched(preset, "value_spread", 0.2, "")
    assert isinstance(arms.decider_of(spread, executor(members=5), preset), ValueSpread)
    assert isinstance(arms.decider_of(spread, collapsed(), preset), Periodic)


def test_a_method_that_reads_no_doubt_needs_no_ensemble():
    assert arms.decider_of(arms.never(), executor(members=1), preset_of("PerturbedHopper")) == Never()


def test_a_single_critic_is_refused():
    with pytest.raises(ValueError, match="two or more"):
        unless_collapsed(Never(), executor(members=1), move=3, every=10)
