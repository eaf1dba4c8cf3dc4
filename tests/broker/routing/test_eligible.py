"""Who is left out of every plan, and with which word."""

import pytest

from broker.config import RouteSettings
from broker.routing.eligible import sort_out
from broker.routing.interface import Need
from protos.types import ProviderState
from tests.broker.routing.candidates import NEED, a_candidate


def sorted_out(candidates, need=NEED, providers="abc", fallback=""):
    settings = RouteSettings(strategy="any", providers=tuple(providers), fallback=fallback)
    return sort_out(need, candidates, settings)


@pytest.mark.parametrize(
    ("candidate", "need", "why"),
    [
        ({"state": ProviderState.LOADING}, NEED, "loading"),
        ({"state": ProviderState.DRAINING}, NEED, "draining"),
        ({"state": ProviderState.COOLING, "available_at": 9.0}, NEED, "cooling"),
        ({"leasable": False}, Need(5, 5.0), "leases"),
        ({"usd": 0.02}, Need(0, 5.0, max_price_usd=0.01), "price"),
        ({"step_usd": 0.01}, Need(5, 5.0, max_price_usd=0.04), "price"),
        ({"ms": 300}, Need(0, 0.2), "median latency"),
        ({"in_flight": 4, "max_concurrency": 4}, NEED, "concurrency"),
    ],
)
def test_a_source_that_cannot_be_asked_is_excluded_and_why_is_said(candidate, need, why):
    field = sorted_out([a_candidate("a", **candidate), a_candidate("b", ms=1)], need)
    assert [c.info.provider_id for c in field.eligible] == ["b"]
    assert [step.provider_id for step in field.excluded] == ["a"]
    assert why in field.excluded[0].why


def test_when_all_are_busy_one_waits_its_turn():
    busy = [a_candidate("a", in_flight=4, max_concurrency=4)]
    assert [c.info.provider_id for c in sorted_out(busy).eligible] == ["a"]


def test_only_those_that_merely_cool_are_worth_waiting_for():
    cooling = {"state": ProviderState.COOLING, "available_at": 9.0}
    field = sorted_out([a_candidate("a", **cooling), a_candidate("b", usd=1.0, **cooling)], Need(0, 5.0, 0.5))
    assert field.cooling == ("a",)


def test_a_fallback_outside_the_route_s_providers_stands_apart():
    field = sorted_out([a_candidate("a"), a_candidate("r")], fallback="r")
    assert [c.info.provider_id for c in field.eligible] == ["a"]
    assert field.fallback == "r"


def test_a_fallback_among_the_providers_is_asked_in_its_turn_too():
    field = sorted_out([a_candidate("a"), a_candidate("b")], fallback="b")
    assert [c.info.provider_id for c in field.eligible] == ["a", "b"]
    assert field.fallback == "b"


def test_a_fallback_that_cannot_be_asked_is_none():
    assert sorted_out([a_candidate("r", state=ProviderState.DRAINING)], fallback="r").fallback == ""


def test_a_source_of_unknown_latency_is_never_too_slow():
    assert len(sorted_out([a_candidate("a", ms=None)], Need(0, 0.001)).eligible) == 1
