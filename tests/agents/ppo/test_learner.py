"""The PPO update against torch's autograd, and its promises about minibatches and masks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from agents.networks import ActorCritic, MlpStack
from agents.ppo import losses
from agents.ppo.config import PPOConfig
from agents.ppo.learner import Batch, Learner, minibatch_slices

CONFIG = PPOConfig(hidden=(8, 8), members=3, minibatch=16, epochs=2, entropy_coef=0.01, max_grad_norm=1e9)


def networks_and_batch(rows: int = 16, seed: int = 0) -> tuple[ActorCritic, Batch]:
    rng = np.random.default_rng(seed)
    networks = ActorCritic(4, 2, CONFIG.hidden, CONFIG.members, prior_scale=0.5)
    networks.initialise(rng, -0.3)
    observation = rng.standard_normal((rows, 4)).astype(np.float32)
    action = rng.standard_normal((rows, 2)).astype(np.float32)
    old = losses.gaussian_log_prob(action, networks.mean(observation), networks.log_std)
    networks.vector += 0.05 * rng.standard_normal(networks.vector.shape).astype(np.float32)
    mask = (rng.random((3, rows)) < 0.7).astype(np.float32)
    target = rng.standard_normal((3, rows)).astype(np.float32)
    advantage = rng.standard_normal(rows).astype(np.float32)
    weight = np.ones(rows, np.float32)
    weight[:3] = 0.0
    return networks, Batch(
        observation, action, old, advantage, weight, 1 - weight, networks.prior(observation), target, mask
    )


def torch_forward(stack: MlpStack, inputs: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    parameters = []
    hidden = inputs.expand(stack.shape.members, -1, -1)
    for i, (weight, bias) in enumerate(zip(stack.weights, stack.biases, strict=True)):
        pair = [torch.tensor(weight, requires_grad=True), torch.tensor(bias, requires_grad=True)]
        parameters += pair
        hidden = hidden @ pair[0] + pair[1]
        hidden = torch.tanh(hidden) if i < len(stack.weights) - 1 else hidden
    return hidden, parameters


def gradients(stack: MlpStack) -> list[np.ndarray]:
    return [part for pair in zip(stack.weights, stack.biases, strict=True) for part in pair]


def test_policy_gradient_equals_autograd() -> None:
    networks, batch = networks_and_batch()
    loss = Learner(networks, CONFIG, np.random.default_rng(0))._policy_gradient(batch)

    mean, parameters = torch_forward(networks.actor, torch.tensor(batch.observation))
    log_std = torch.tensor(networks.log_std, requires_grad=True)
    normal = torch.distributions.Normal(mean[0], log_std.exp())
    ratio = (normal.log_prob(torch.tensor(batch.action)).sum(-1) - torch.tensor(batch.old_log_prob)).exp()
    used = torch.tensor(batch.policy_weight) > 0
    advantage = torch.tensor(batch.advantage)[used]
    advantage = (advantage - advantage.mean()) / advantage.std(unbiased=False)
    surrogate = torch.minimum(ratio[used] * advantage, ratio[used].clamp(0.8, 1.2) * advantage)
    expected = -surrogate.mean()
    (expected - 0.01 * normal.entropy()[0].sum()).backward()

    assert loss.loss == pytest.approx(expected.item(), abs=1e-6)
    for ours, theirs in zip(gradients(networks.actor_gradient), parameters, strict=True):
        np.testing.assert_allclose(ours, theirs.grad.numpy(), atol=2e-6)
    np.testing.assert_allclose(networks.log_std_gradient, log_std.grad.numpy(), atol=2e-6)


def test_value_gradient_of_each_member_equals_autograd_on_its_own_masked_loss() -> None:
    networks, batch = networks_and_batch()
    loss = Learner(networks, CONFIG, np.random.default_rng(0))._value_gradient(batch)

    out, parameters = torch_forward(networks.critics, torch.tensor(batch.observation))
    values = out[..., 0] + torch.tensor(batch.prior)
    mask = torch.tensor(batch.mask)
    per_member = (0.5 * mask * (values - torch.tensor(batch.target)) ** 2).sum(1) / mask.sum(1)
    (CONFIG.value_coef * per_member.sum()).backward()

    assert loss == pytest.approx(per_member.mean().item(), abs=1e-6)
    for ours, theirs in zip(gradients(networks.critic_gradient), parameters, strict=True):
        np.testing.assert_allclose(ours, theirs.grad.numpy(), atol=2e-6)


def test_a_remainder_of_one_row_joins_its_neighbour() -> None:
    assert minibatch_slices(65, 64) == [slice(0, 65)]
    assert minibatch_slices(129, 64) == [slice(0, 64), slice(64, 129)]
    assert minibatch_slices(66, 64) == [slice(0, 64), slice(64, 66)]
    assert minibatch_slices(1, 64) == [slice(0, 1)]


@pytest.mark.parametrize("rows", [1, 2, 17, 65])
def test_any_number_of_rows_leaves_finite_weights(rows: int) -> None:
    networks, batch = networks_and_batch(rows=rows)
    figures = Learner(networks, replace(CONFIG, minibatch=64), np.random.default_rng(0)).update(batch, 1e-3)
    assert np.isfinite(networks.vector).all()
    assert all(np.isfinite(value) for value in figures.values())


def test_equal_advantages_move_the_critics_but_not_the_actor() -> None:
    networks, batch = networks_and_batch(rows=64)
    before = networks.vector.copy()
    batch = replace(batch, advantage=np.full(64, 0.1, np.float32))
    Learner(networks, replace(CONFIG, entropy_coef=0.0), np.random.default_rng(0)).update(batch, 1e-3)
    np.testing.assert_array_equal(networks.vector[: networks.actor_size], before[: networks.actor_size])
    assert (networks.vector[networks.actor_size :] != before[networks.actor_size :]).any()


def test_a_guided_row_moves_the_critics_but_not_the_actor() -> None:
    networks, batch = networks_and_batch(rows=32)
    changed = batch.advantage.copy()
    changed[:3] = 100.0  # weight 0: guidance acted there
    twin, _ = networks_and_batch(rows=32)
    learner, other = (Learner(n, CONFIG, np.random.default_rng(0)) for n in (networks, twin))
    learner.update(batch, 1e-3)
    other.update(replace(batch, advantage=changed), 1e-3)
    np.testing.assert_array_equal(networks.vector, twin.vector)
    assert (networks.critic_gradient.rows != 0).any()
