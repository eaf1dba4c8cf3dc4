from __future__ import annotations

import numpy as np

from meta_policy.training.config import HeadConfig
from meta_policy.training.learner import Batch, Learner, Networks

CONFIG = HeadConfig(epochs=1, minibatch=64, hidden=(8,))


def batch(advantage: np.ndarray, decides: np.ndarray, move: np.ndarray) -> Batch:
    rows = len(move)
    return Batch(
        np.ones((rows, 2), np.float32),
        np.ones((rows, 3), np.bool_),
        move,
        np.full(rows, -np.log(3.0), np.float32),
        advantage.astype(np.float32),
        np.zeros(rows, np.float32),
        decides.astype(np.float32),
    )


def networks() -> Networks:
    made = Networks(2, 3, (8,))
    made.initialise(np.random.default_rng(0), np.zeros(3, np.float32))
    return made


def probabilities(made: Networks) -> np.ndarray:
    logits = made.actor(np.ones((1, 2), np.float32))[0, 0]
    return np.exp(logits) / np.exp(logits).sum()


def test_a_move_that_did_better_than_the_others_becomes_likelier():
    made = networks()
    move = np.arange(60) % 3
    before = probabilities(made)[1]
    learner = Learner(made, CONFIG, np.random.default_rng(0))
    learner.update(batch(np.where(move == 1, 1.0, -1.0), np.ones(60), move), 1e-2, 0.0)
    assert probabilities(made)[1] > before


def test_steps_without_a_choice_teach_the_actor_nothing():
    made = networks()
    move = np.arange(60) % 3
    before = made.vector[: made.actor_size].copy()
    learner = Learner(made, CONFIG, np.random.default_rng(0))
    learner.update(batch(np.where(move == 1, 1.0, -1.0), np.zeros(60), move), 1e-2, 0.1)
    np.testing.assert_array_equal(made.vector[: made.actor_size], before)
    assert (made.vector[made.actor_size :] != networks().vector[made.actor_size :]).any()


def test_an_entropy_bonus_alone_evens_the_moves_out():
    made = networks()
    made.actor.biases[-1][0, 0] = [2.0, 0.0, 0.0]
    before = probabilities(made)[0]
    learner = Learner(made, CONFIG, np.random.default_rng(0))
    for _ in range(20):
        learner.update(batch(np.zeros(60), np.ones(60), np.arange(60) % 3), 1e-2, 0.1)
    assert probabilities(made)[0] < before
