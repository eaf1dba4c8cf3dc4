"""The pieces of the loss by numbers, and the identities of their gradients."""

from __future__ import annotations

import numpy as np
import pytest

from agents.ppo import losses

F = np.float32


def rows(*values: float) -> np.ndarray:
    return np.array(values, F)


def test_log_prob_of_a_gaussian_by_hand() -> None:
    # two components: z = 1 with sigma 1, z = 2 with sigma 0.5
    action, mean = np.array([[1.0, 1.0]], F), np.array([[0.0, 0.0]], F)
    expected = -0.5 * 1 - 0.5 * 4 - np.log(0.5) - np.log(2 * np.pi)
    found = losses.gaussian_log_prob(action, mean, np.log(rows(1.0, 0.5)))
    np.testing.assert_allclose(found, [expected], rtol=1e-6)


def test_log_prob_takes_one_spread_a_row() -> None:
    action, mean = np.array([[1.0], [1.0]], F), np.zeros((2, 1), F)
    found = losses.gaussian_log_prob(action, mean, np.log(np.array([[1.0], [0.5]], F)))
    alone = [losses.gaussian_log_prob(action[:1], mean[:1], np.log(rows(s)))[0] for s in (1.0, 0.5)]
    np.testing.assert_array_equal(found, alone)


def test_log_prob_gradient_equals_the_difference_quotient() -> None:
    rng = np.random.default_rng(0)
    action, mean = rng.standard_normal((5, 2)).astype(F), rng.standard_normal((5, 2)).astype(F)
    log_std = rows(-0.5, 0.3)
    by_mean, by_log_std = losses.gaussian_log_prob_gradient(action, mean, log_std)
    step = 1e-2
    for j in range(2):
        e = np.zeros(2, F)
        e[j] = step
        up, down = (losses.gaussian_log_prob(action, mean + s * e, log_std) for s in (1, -1))
        np.testing.assert_allclose((up - down) / (2 * step), by_mean[:, j], atol=2e-3)
        up, down = (losses.gaussian_log_prob(action, mean, log_std + s * e) for s in (1, -1))
        np.testing.assert_allclose((up - down) / (2 * step), by_log_std[:, j], rtol=1e-3, atol=2e-3)


def test_the_expected_score_is_zero() -> None:
    """E[d log p] = 0 under p itself: what makes any baseline free."""
    rng = np.random.default_rng(1)
    log_std = rows(-0.7)
    action = (np.exp(log_std) * rng.standard_normal((200_000, 1))).astype(F)
    by_mean, by_log_std = losses.gaussian_log_prob_gradient(action, np.zeros_like(action), log_std)
    assert abs(by_mean.mean()) < 0.02
    assert abs(by_log_std.mean()) < 0.02


def test_entropy_of_a_unit_gaussian() -> None:
    assert losses.gaussian_entropy(rows(0.0)) == pytest.approx(1.4189385, abs=1e-6)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient"),
    [
        (1.0, 2.0, -2.0, -2.0),  # unclipped
        (1.5, 2.0, -2.4, 0.0),  # gains past the clip are not followed
        (1.5, -2.0, 3.0, 3.0),  # losses past it are
        (0.5, 2.0, -1.0, -1.0),
        (0.5, -2.0, 1.6, 0.0),
    ],
)
def test_the_clipped_surrogate_by_numbers(
    ratio: float, advantage: float, loss: float, gradient: float
) -> None:
    found = losses.clipped_policy_loss(rows(np.log(ratio)), rows(0.0), rows(advantage), rows(1.0), 0.2)
    assert found.loss == pytest.approx(loss, rel=1e-6)
    assert found.log_prob_gradient[0] == pytest.approx(gradient, rel=1e-6)


def test_rows_of_weight_zero_count_for_nothing() -> None:
    arguments = rows(0.1, 3.0), rows(0.0, 0.0), rows(1.0, 50.0)
    masked = losses.clipped_policy_loss(*arguments, rows(1.0, 0.0), 0.2)
    alone = losses.clipped_policy_loss(*(a[:1] for a in arguments), rows(1.0), 0.2)
    assert masked.loss == alone.loss
    assert masked.log_prob_gradient[1] == 0.0
    assert masked.approx_kl == alone.approx_kl
    assert masked.worst_ratio_error == alone.worst_ratio_error


def test_guided_rows_are_left_out_of_the_ratio_check_only() -> None:
    arguments = rows(0.0, 0.5), rows(0.0, 0.0), rows(1.0, 1.0), rows(1.0, 1.0)
    found = losses.clipped_policy_loss(*arguments, 0.2, guided=rows(0.0, 1.0))
    assert found.worst_ratio_error == 0.0
    assert found.clip_fraction == 0.5


def test_advantages_get_mean_zero_and_spread_one_over_the_rows_that_count() -> None:
    found = losses.normalise_advantages(rows(1.0, 3.0, 100.0), rows(1.0, 1.0, 0.0))
    np.testing.assert_allclose(found, [-1.0, 1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("advantages", [rows(7.0), np.full(64, 0.1, F), np.full(64, 1e6, F), rows()])
def test_advantages_that_say_nothing_become_zeros(advantages: np.ndarray) -> None:
    found = losses.normalise_advantages(advantages, np.ones_like(advantages))
    np.testing.assert_array_equal(found, np.zeros_like(advantages))


def test_value_loss_by_hand() -> None:
    values, targets = np.array([[1.0, 2.0], [0.0, 0.0]], F), np.array([[0.0, 0.0], [3.0, 1.0]], F)
    loss, slope = losses.value_loss(values, targets, np.array([[1.0, 0.0], [1.0, 1.0]], F))
    assert loss == pytest.approx((0.5 * 1 + 0.5 * (9 + 1) / 2) / 2)
    np.testing.assert_allclose(slope, [[1.0, 0.0], [-1.5, -0.5]])


def test_a_member_whose_mask_is_empty_has_no_gradient() -> None:
    loss, slope = losses.value_loss(
        np.ones((2, 3), F), np.zeros((2, 3), F), np.array([[0, 0, 0], [1, 1, 1]], F)
    )
    np.testing.assert_array_equal(slope[0], np.zeros(3))
    assert np.isfinite(loss)
