from __future__ import annotations

import numpy as np

from meta_policy.cost import Costs

ONE = np.ones(1)
YES, NO = np.array([True]), np.array([False])


def utility(costs: Costs, price=0.0, guided=NO, switched=NO, wait_ms=0.0, beta=1.0) -> float:
    return float(costs.utility(10 * ONE, price * ONE, guided, switched, wait_ms * ONE, beta * ONE)[0])


def test_without_guidance_utility_is_the_reward():
    assert utility(Costs(rate=1000.0, kappa=1.0, tau=1.0, reliance=1.0)) == 10.0


def test_a_dollar_costs_beta_times_the_exchange_rate():
    assert utility(Costs(rate=1000.0), price=0.001, beta=3.0) == 7.0


def test_a_switch_costs_kappa_whatever_beta_is():
    assert utility(Costs(rate=1000.0, kappa=0.5), switched=YES, beta=100.0) == 9.5


def test_a_waited_second_costs_tau():
    assert utility(Costs(rate=1000.0, tau=4.0), wait_ms=500.0) == 8.0


def test_following_a_free_source_costs_reliance_per_unit_of_beta():
    assert utility(Costs(rate=1000.0, reliance=2.0), guided=YES, beta=1.5) == 7.0
