"""Four strategies, each by what it says it does."""

import pytest

from broker.routing.interface import Need
from broker.routing.registry import STRATEGIES
from broker.routing.scored import ScoredSettings, score
from tests.broker.routing.candidates import NEED, a_candidate


def made(name, providers="abc", fallback="", **keys):
    kind = STRATEGIES[name]
    told = {"strategy": name, "providers": list(providers), "fallback": fallback} | keys
    return kind.make(kind.settings.model_validate(told))


def order(plan):
    return "".join(step.provider_id for step in plan.attempts)


def test_fixed_keeps_the_order_of_the_route():
    candidates = [a_candidate("a"), a_candidate("b"), a_candidate("c")]
    assert order(made("fixed", "cab").plan(NEED, candidates)) == "cab"


def test_cheapest_counts_a_lease_with_all_its_steps():
    candidates = [a_candidate("a", usd=0.01), a_candidate("b", step_usd=0.001), a_candidate("c", usd=0.02)]
    strategy = made("cheapest")
    assert order(strategy.plan(Need(0, 5.0), candidates)) == "bac"
    assert order(strategy.plan(Need(5, 5.0), candidates)) == "bac"
    assert order(strategy.plan(Need(50, 5.0), candidates)) == "acb"


def test_cheapest_breaks_ties_by_latency():
    candidates = [a_candidate("a", ms=9), a_candidate("b", ms=3)]
    assert order(made("cheapest", "ab").plan(NEED, candidates)) == "ba"


def test_fastest_takes_the_lowest_median():
    candidates = [a_candidate("a", ms=9), a_candidate("b", ms=3), a_candidate("c", ms=5)]
    assert order(made("fastest").plan(NEED, candidates)) == "bca"


def test_fastest_puts_the_unknown_last_but_explores_it_now_and_then():
    strategy = made("fastest", "ab", explore_every=10)
    firsts = [
        order(strategy.plan(NEED, [a_candidate("a", ms=None), a_candidate("b", ms=3)]))[0] for _ in range(20)
    ]
    assert firsts.count("a") == 2
    assert firsts[0] == "b"


def test_exploration_can_be_switched_off():
    strategy = made("fastest", "ab", explore_every=0)
    plans = [strategy.plan(NEED, [a_candidate("a", ms=None), a_candidate("b", ms=3)]) for _ in range(30)]
    assert {order(plan) for plan in plans} == {"ba"}


def test_every_cold_source_gets_its_turn_of_exploration():
    strategy = made("fastest", "abc", explore_every=2)
    cold = [a_candidate("a", ms=None), a_candidate("b", ms=3), a_candidate("c", ms=None)]
    firsts = [order(strategy.plan(NEED, cold))[0] for _ in range(8)]
    assert firsts == ["b", "a", "b", "c", "b", "a", "b", "c"]


def test_the_score_is_the_weighted_sum_it_says():
    settings = ScoredSettings(
        strategy="scored", providers=("a",), quality_weight=2.0, latency_weight=1.0, price_weight=0.5
    )
    assert score(settings, quality=0.75, latency_share=0.25, price_share=1.0) == 1.5 - 0.25 - 0.5


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"quality": 1.0}, {"quality": 0.5}),
        ({"ms": 100}, {"ms": 2000}),
        ({"usd": 0.0}, {"usd": 0.01}),
    ],
)
def test_scored_prefers_what_answers_what_is_quick_and_what_is_cheap(first, second):
    candidates = [a_candidate("a", **second), a_candidate("b", **first)]
    assert order(made("scored", "ab").plan(NEED, candidates)) == "ba"


def test_a_source_that_only_fails_loses_the_traffic_and_a_new_one_is_tried():
    """N is new, F fails in 3 ms every time, S succeeds in 200 ms."""
    strategy = made("scored", "NFS")
    candidates = [
        a_candidate("N", ms=None),
        a_candidate("F", ms=None, quality=0.05),
        a_candidate("S", ms=200),
    ]
    firsts = [order(strategy.plan(NEED, candidates))[0] for _ in range(200)]
    assert "N" in firsts[:20]
    assert firsts.count("S") > 160
