from __future__ import annotations

import numpy as np

from meta_policy.decision.categorical import (
    entropy,
    entropy_gradient,
    log_prob,
    log_prob_gradient,
    log_softmax,
)
from meta_policy.decision.head import drawn, masked

LOGITS = np.array([[0.3, -1.0, 2.0], [1.0, 1.0, -0.5]])
MOVE = np.array([0, 2])


def by_differences(f, logits, step=1e-6):
    gradient = np.zeros_like(logits)
    for index in np.ndindex(*logits.shape):
        up, down = logits.copy(), logits.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = (f(up) - f(down)).sum() / (2 * step)
    return gradient


def test_the_gradient_of_log_probability_is_that_of_finite_differences():
    wanted = by_differences(lambda z: log_prob(log_softmax(z), MOVE), LOGITS)
    np.testing.assert_allclose(log_prob_gradient(log_softmax(LOGITS), MOVE), wanted, atol=1e-7)


def test_the_gradient_of_entropy_is_that_of_finite_differences():
    wanted = by_differences(lambda z: entropy(log_softmax(z)), LOGITS)
    log_p = log_softmax(LOGITS)
    np.testing.assert_allclose(entropy_gradient(log_p, entropy(log_p)), wanted, atol=1e-7)


def test_an_illegal_move_is_never_drawn_and_takes_no_gradient():
    legal = np.array([[True, False, True]] * 2000)
    logits = masked(np.tile(np.array([[0.0, 50.0, 0.0]], np.float32), (2000, 1)), legal)
    moves = drawn(logits, np.random.default_rng(0))
    assert set(moves.tolist()) == {0, 2}
    log_p = log_softmax(logits)
    assert (log_prob_gradient(log_p, moves)[:, 1] == 0).all()
    assert (entropy_gradient(log_p, entropy(log_p))[:, 1] == 0).all()


def test_moves_are_drawn_with_their_probabilities():
    logits = np.tile(np.log(np.array([[0.7, 0.2, 0.1]])), (20000, 1))
    shares = np.bincount(drawn(logits, np.random.default_rng(1)), minlength=3) / 20000
    np.testing.assert_allclose(shares, [0.7, 0.2, 0.1], atol=0.015)
