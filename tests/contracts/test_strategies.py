"""What every routing strategy of the registry promises."""

import math

import pytest

from broker.routing.interface import Need
from broker.routing.registry import ROUTE_SETTINGS, STRATEGIES
from protos.types import ProviderState
from tests.broker.routing.candidates import NEED, a_candidate


@pytest.fixture(params=sorted(STRATEGIES))
def make(request):
    kind = STRATEGIES[request.param]

    def make(providers="abc", fallback=""):
        told = {"strategy": request.param, "providers": list(providers), "fallback": fallback}
        return kind.make(kind.settings.model_validate(told))

    return make


MIXED = [
    a_candidate("a", ms=None, usd=0.01),
    a_candidate("b", ms=5, quality=0.0),
    a_candidate("c", ms=0, usd=0.5, in_flight=7),
]


def test_its_name_is_its_key():
    for name, kind in STRATEGIES.items():
        made = kind.make(kind.settings(strategy=name, providers=("a",)))
        assert made.name == name
        assert ROUTE_SETTINGS[name] is kind.settings


def test_every_source_is_either_attempted_or_excluded_and_never_twice(make):
    draining = a_candidate("d", state=ProviderState.DRAINING)
    plan = make("abcd").plan(NEED, [*MIXED, draining])
    named = [step.provider_id for step in (*plan.attempts, *plan.excluded)]
    assert sorted(named) == ["a", "b", "c", "d"]
    assert [step.provider_id for step in plan.excluded] == ["d"]


def test_no_candidates_make_an_empty_plan(make):
    plan = make().plan(NEED, [])
    assert (plan.attempts, plan.excluded, plan.fallback) == ((), (), "")


def test_one_candidate_is_the_whole_plan(make):
    for _ in range(30):
        assert [s.provider_id for s in make().plan(NEED, [a_candidate("a", ms=None)]).attempts] == ["a"]


def test_scores_are_finite_and_reasons_are_given(make):
    strategy = make()
    for need in (NEED, Need(0, 0.0), Need(50, 1e-9), Need(1, 1e9, 0.0)):
        plan = strategy.plan(need, MIXED)
        for step in (*plan.attempts, *plan.excluded):
            assert math.isfinite(step.score)
            assert step.why


def test_nothing_above_the_price_limit_is_attempted(make):
    plan = make().plan(Need(0, 5.0, max_price_usd=0.1), MIXED)
    assert {step.provider_id for step in plan.attempts} == {"a", "b"}


def test_the_fallback_is_named_and_not_attempted_before_the_others_have_failed(make):
    plan = make("abc", fallback="r").plan(NEED, [*MIXED, a_candidate("r", ms=0.1)])
    assert plan.fallback == "r"
    assert "r" not in {step.provider_id for step in plan.attempts}


def test_those_that_cool_are_named(make):
    cooling = a_candidate("a", state=ProviderState.COOLING, available_at=9.0)
    assert make().plan(NEED, [cooling]).cooling == ("a",)
