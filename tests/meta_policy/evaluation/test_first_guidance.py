import numpy as np
import pytest

from meta_policy.evaluation.first_guidance import FirstGuidance
from meta_policy.guide import Exchange, Request

NAN = float("nan")


def step(number: int, opens: int = -1, serves: int = 0, guided: bool = False, latency_ms: float = NAN):
    request = Request(
        active=np.array([True]),
        step=np.array([number]),
        observation=np.zeros((1, 2)),
        opens=np.array([opens]),
        hold=np.array([5]),
        serves=np.array([serves]),
        cancels=np.array([False]),
    )
    exchange = Exchange(
        action=np.zeros((1, 1), np.float32),
        guided=np.array([guided]),
        provider=np.array([0 if guided else -1]),
        price_usd=np.zeros(1),
        wait_ms=np.zeros(1),
        latency_ms=np.array([latency_ms]),
        broken=np.array([False]),
    )
    return request, exchange


def test_an_answer_in_time_counts_its_own_latency():
    first = FirstGuidance(1, period_ms=8.0)
    assert first.observe(*step(3, opens=0, guided=True, latency_ms=2.5)).tolist() == [2.5]


def test_only_the_first_answer_of_a_lease_counts():
    first = FirstGuidance(1, period_ms=8.0)
    first.observe(*step(3, opens=0, guided=True, latency_ms=2.5))
    assert np.isnan(first.observe(*step(4, guided=True, latency_ms=2.0)))


def test_late_answers_add_the_periods_that_passed_without_guidance():
    first = FirstGuidance(1, period_ms=8.0)
    assert np.isnan(first.observe(*step(3, opens=0)))
    assert np.isnan(first.observe(*step(4)))
    assert first.observe(*step(5, guided=True, latency_ms=3.0)).tolist() == [pytest.approx(19.0)]


def test_a_lease_that_ends_unused_leads_to_nothing():
    first = FirstGuidance(1, period_ms=8.0)
    first.observe(*step(3, opens=0))
    first.observe(*step(4, serves=-1))
    assert np.isnan(first.observe(*step(5, guided=True, latency_ms=1.0)))
