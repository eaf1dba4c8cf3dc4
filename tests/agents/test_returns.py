"""Advantages against numbers worked out by hand, and the identities that tie them to returns."""

from __future__ import annotations

import numpy as np
import pytest

from agents.returns import bootstrap_values, explained_variance, generalised_advantages


def column(*values: float) -> np.ndarray:
    return np.array(values, np.float64)[:, None]


def flags(*values: int) -> np.ndarray:
    return np.array(values, np.bool_)[:, None]


def test_three_steps_by_hand() -> None:
    # delta = 1 + 0.5*2 - 1 = 1, 2 + 0.5*3 - 2 = 1.5, 3 + 0.5*4 - 3 = 2; gamma*lambda = 0.25
    advantages = generalised_advantages(
        column(1, 2, 3), column(1, 2, 3), column(2, 3, 4), flags(0, 0, 0), flags(0, 0, 0), 0.5, 0.5
    )
    np.testing.assert_allclose(advantages, column(1.5, 2.0, 2.0), rtol=0, atol=1e-15)


def test_a_true_end_is_not_bootstrapped_and_cuts_the_chain() -> None:
    advantages = generalised_advantages(
        column(1, 2, 3), column(1, 2, 3), column(2, 100, 4), flags(0, 1, 0), flags(0, 0, 0), 0.5, 0.5
    )
    np.testing.assert_allclose(advantages, column(1.0, 0.0, 2.0), rtol=0, atol=1e-15)


def test_a_time_limit_is_bootstrapped_and_cuts_the_chain() -> None:
    advantages = generalised_advantages(
        column(1, 2, 3), column(1, 2, 3), column(2, 10, 4), flags(0, 0, 0), flags(0, 1, 0), 0.5, 0.5
    )
    np.testing.assert_allclose(advantages, column(2.25, 5.0, 2.0), rtol=0, atol=1e-15)


def test_terminated_and_truncated_at_once_counts_as_terminated() -> None:
    both = generalised_advantages(column(2), column(1), column(100), flags(1), flags(1), 0.9, 0.95)
    np.testing.assert_array_equal(both, column(1.0))


@pytest.fixture
def random_rollout() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    terminated = rng.random((20, 3)) < 0.1
    truncated = (rng.random((20, 3)) < 0.1) & ~terminated
    return {
        "rewards": rng.standard_normal((20, 3)),
        "values": rng.standard_normal((20, 3)),
        "next_values": rng.standard_normal((20, 3)),
        "terminated": terminated,
        "truncated": truncated,
    }


def test_lambda_zero_gives_the_one_step_error(random_rollout: dict[str, np.ndarray]) -> None:
    r = random_rollout
    expected = r["rewards"] + 0.9 * np.where(r["terminated"], 0.0, r["next_values"]) - r["values"]
    np.testing.assert_allclose(generalised_advantages(**r, gamma=0.9, lam=0.0), expected, atol=1e-14)


def test_lambda_one_gives_the_discounted_return_minus_the_value(
    random_rollout: dict[str, np.ndarray],
) -> None:
    r = random_rollout
    following = np.zeros(3)
    returns = np.zeros((20, 3))
    for t in reversed(range(20)):
        last = t == 19
        cut = r["truncated"][t] | last
        ahead = np.where(r["terminated"][t], 0.0, np.where(cut, r["next_values"][t], following))
        returns[t] = following = r["rewards"][t] + 0.9 * ahead
    # within an episode V(s_{t+1}) of one step is V(s_t) of the next, or the sum does not telescope
    consistent = dict(r)
    inner = ~(r["terminated"] | r["truncated"])[:-1]
    consistent["next_values"] = r["next_values"].copy()
    consistent["next_values"][:-1][inner] = r["values"][1:][inner]
    advantages = generalised_advantages(**consistent, gamma=0.9, lam=1.0)
    np.testing.assert_allclose(advantages, returns - r["values"], atol=1e-12)


def test_every_member_of_a_stack_is_treated_as_if_alone(random_rollout: dict[str, np.ndarray]) -> None:
    r = random_rollout
    other = {**r, "values": r["values"] + 1.0, "next_values": r["next_values"] - 2.0}
    stacked = {
        **r,
        "values": np.stack([r["values"], other["values"]]),
        "next_values": np.stack([r["next_values"], other["next_values"]]),
    }
    both = generalised_advantages(**stacked, gamma=0.99, lam=0.95)
    np.testing.assert_array_equal(both[0], generalised_advantages(**r, gamma=0.99, lam=0.95))
    np.testing.assert_array_equal(both[1], generalised_advantages(**other, gamma=0.99, lam=0.95))


def test_the_final_observation_stands_in_where_an_episode_was_cut() -> None:
    values = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    truncated = np.array([[False, True], [True, False]])
    following = bootstrap_values(values, np.array([-5.0, -6.0]), truncated)
    np.testing.assert_array_equal(following, [[2.0, -5.0], [-6.0, 30.0]])


def test_explained_variance_is_one_for_the_truth_and_zero_for_a_constant() -> None:
    observed = np.array([1.0, 2.0, 3.0])
    assert explained_variance(observed, observed) == 1.0
    assert explained_variance(np.full(3, 2.0), observed) == 0.0
    assert explained_variance(observed, np.full(3, 2.0)) == 0.0
