"""The stacks: members that are apart, gradients that follow the identities, priors that never move."""

from __future__ import annotations

import numpy as np
import pytest

from agents.networks import ActorCritic, MlpStack, StackShape, initialise, orthogonal


def stack(members: int = 2, sizes: tuple[int, ...] = (3, 5, 4, 2)) -> MlpStack:
    shape = StackShape(members, sizes)
    made = MlpStack(shape, np.zeros(shape.parameters, np.float32))
    initialise(made, np.random.default_rng(0), head_gain=1.0)
    return made


def test_a_stack_by_hand() -> None:
    shape = StackShape(1, (1, 1, 1))
    net = MlpStack(shape, np.array([2.0, 0.5, 3.0, -1.0], np.float32))  # weight, bias, weight, bias
    assert net(np.array([[0.25]], np.float32))[0, 0, 0] == pytest.approx(3.0 * np.tanh(1.0) - 1.0, rel=1e-6)


def test_every_member_equals_that_member_alone() -> None:
    both, inputs = stack(), np.random.default_rng(1).standard_normal((7, 3)).astype(np.float32)
    alone = StackShape(1, both.shape.sizes)
    for k in range(2):
        one = MlpStack(alone, both.rows[k].copy())
        np.testing.assert_array_equal(both(inputs)[k], one(inputs)[0])


def test_backward_equals_the_difference_quotient() -> None:
    net = stack()
    rng = np.random.default_rng(2)
    inputs = rng.standard_normal((6, 3)).astype(np.float32)
    outer = rng.standard_normal((2, 6, 2)).astype(np.float32)
    gradient = MlpStack(net.shape, np.zeros(net.shape.parameters, np.float32))
    net.backward(net.forward(inputs), outer, gradient)
    for k in range(2):
        for i in rng.choice(net.shape.parameters_per_member, 12, replace=False):
            kept = net.rows[k, i]
            sides = []
            for step in (1e-2, -1e-2):
                net.rows[k, i] = kept + step
                sides.append(float((net(inputs) * outer).sum()))
            net.rows[k, i] = kept
            assert gradient.rows[k, i] == pytest.approx((sides[0] - sides[1]) / 2e-2, abs=3e-2, rel=2e-2)


def test_the_gradient_in_the_last_bias_is_the_sum_of_what_comes_in() -> None:
    net, outer = stack(), np.random.default_rng(3).standard_normal((2, 6, 2)).astype(np.float32)
    gradient = MlpStack(net.shape, np.zeros(net.shape.parameters, np.float32))
    net.backward(net.forward(np.ones((6, 3), np.float32)), outer, gradient)
    np.testing.assert_allclose(gradient.biases[-1][:, 0], outer.sum(axis=1), rtol=1e-6)


def test_orthogonal_matrices_are_orthogonal_either_way_round() -> None:
    rng = np.random.default_rng(0)
    tall, wide = orthogonal(rng, 6, 3, 2.0), orthogonal(rng, 3, 6, 2.0)
    np.testing.assert_allclose(tall.T @ tall, 4 * np.eye(3), atol=1e-5)
    np.testing.assert_allclose(wide @ wide.T, 4 * np.eye(3), atol=1e-5)


def test_members_and_priors_are_drawn_apart() -> None:
    networks = ActorCritic(4, 2, (8, 8), 5, prior_scale=0.3)
    networks.initialise(np.random.default_rng(0), 0.0)
    rows = np.concatenate([networks.critics.rows, networks.priors.rows])
    apart = np.linalg.norm(rows[:, None] - rows[None], axis=-1)
    assert (apart[~np.eye(10, dtype=bool)] > 0.1).all()
    values = networks.values(np.ones((3, 4), np.float32))
    assert values.shape == (5, 3)
    assert (values.std(axis=0) > 0).all()


def test_the_prior_is_part_of_the_value_and_not_of_the_parameters() -> None:
    networks = ActorCritic(4, 2, (8, 8), 2, prior_scale=0.3)
    networks.initialise(np.random.default_rng(0), 0.0)
    inputs = np.ones((3, 4), np.float32)
    expected = networks.critics(inputs)[..., 0] + np.float32(0.3) * networks.priors(inputs)[..., 0]
    np.testing.assert_array_equal(networks.values(inputs), expected)
    assert not np.shares_memory(networks.vector, networks.prior_vector)


def test_a_vector_of_the_wrong_size_or_type_is_refused() -> None:
    shape = StackShape(1, (2, 2))
    with pytest.raises(ValueError, match="needs a float32 vector of 6"):
        MlpStack(shape, np.zeros(5, np.float32))
    with pytest.raises(ValueError, match="float64"):
        MlpStack(shape, np.zeros(6))
    with pytest.raises(ValueError, match="members >= 1"):
        StackShape(0, (2, 2))
