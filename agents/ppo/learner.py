"""The PPO update: columns in, better weights and a handful of figures out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from agents.networks import ActorCritic, Float
from agents.ppo import losses
from agents.ppo.adam import Adam, clip_norm, clip_row_norms
from agents.ppo.config import PPOConfig
from agents.ppo.rollout import Columns
from agents.returns import bootstrap_values, explained_variance, generalised_advantages


@dataclass(frozen=True, slots=True)
class Batch:
    """A rollout made ready to learn from, M rows: those whose transition is real.

    action `[M, A]` and old_log_prob `[M]` are those of the distribution that acted: the learner's, or the
    guidance's where its density is known; guided `[M]` is 1 where guidance acted; policy_weight `[M]` is 0
    where the policy must not learn from a row; advantage `[M]`; prior, target, mask `[K, M]`.
    """

    observation: Float
    action: Float
    old_log_prob: Float
    advantage: Float
    policy_weight: Float
    guided: Float
    prior: Float
    target: Float
    mask: Float

    def __len__(self) -> int:
        return len(self.observation)

    def take(self, rows: np.ndarray | slice) -> Batch:
        return Batch(
            self.observation[rows],
            self.action[rows],
            self.old_log_prob[rows],
            self.advantage[rows],
            self.policy_weight[rows],
            self.guided[rows],
            self.prior[:, rows],
            self.target[:, rows],
            self.mask[:, rows],
        )


def minibatch_slices(rows: int, size: int) -> list[slice]:
    """Consecutive slices of `size`; a remainder of one joins its neighbour.

    One row has no spread to normalise by.
    """
    edges = [*range(0, rows, size), rows]
    if len(edges) > 2 and edges[-1] - edges[-2] == 1:
        del edges[-2]
    return [slice(start, end) for start, end in pairwise(edges)]


def prepare(
    columns: Columns,
    rewards: np.ndarray,
    networks: ActorCritic,
    config: PPOConfig,
    masks: np.random.Generator,
) -> tuple[Batch, dict[str, float]]:
    """Value the rollout, and give the actor the ensemble mean's advantages and each critic its own targets.

    All states, the last ones and the truncated ones included, are valued in one batched call.
    `rewards` `[T, N]` are scaled already.
    """
    steps, lanes = rewards.shape
    observation = columns.observation.reshape(steps * lanes, -1)
    finals = np.asarray(columns.final_observations, np.float32).reshape(-1, observation.shape[1])
    states = np.concatenate([observation, columns.last_observation, finals])
    prior = networks.prior(states)
    valued = (networks.critics(states)[..., 0] + prior).astype(np.float64)
    inside = (steps + 1) * lanes
    values = valued[:, :inside].reshape(config.members, steps + 1, lanes)
    following = bootstrap_values(values, valued[:, inside:], columns.truncated)
    advantages = generalised_advantages(
        rewards,
        values[:, :-1],
        following,
        columns.terminated,
        columns.truncated,
        config.gamma,
        config.gae_lambda,
    )
    targets = advantages + values[:, :-1]
    mean_value = values[:, :-1].mean(axis=0)
    figures = {
        "explained_variance": explained_variance(mean_value, targets.mean(axis=0)),
        "value_mean": float(mean_value.mean()),
        "value_spread": float(values[:, :-1].std(axis=0).mean()),
    }
    action, old, weight = _behaviour(columns, observation, networks, config.divergence_cap)
    mask = masks.random((config.members, steps * lanes), dtype=np.float32) < config.bootstrap_share
    batch = Batch(
        observation,
        action,
        old,
        advantages.mean(axis=0).reshape(-1).astype(np.float32),
        weight,
        columns.replaced.reshape(-1).astype(np.float32),
        prior[:, : steps * lanes],
        targets.reshape(config.members, -1).astype(np.float32),
        mask.astype(np.float32),
    )
    valid = columns.valid.reshape(-1)
    return (batch if valid.all() else batch.take(np.flatnonzero(valid))), figures


def _behaviour(
    columns: Columns, observation: Float, networks: ActorCritic, cap: float
) -> tuple[Float, Float, Float]:
    """Actions, log-probabilities under what drew them, and weights in the policy gradient, one a row.

    A replaced step counts only where its density is known and its divergence within `cap`.
    """
    action = columns.action.reshape(len(observation), -1)
    old = losses.gaussian_log_prob(action, networks.mean(observation), networks.log_std)
    replaced = columns.replaced.reshape(-1)
    divergence = columns.divergence.reshape(-1)
    usable = replaced & (divergence <= cap)  # NaN, unknown, compares false
    if usable.any():
        action = np.where(usable[:, None], columns.executed.reshape(len(observation), -1), action)
        old = np.where(usable, columns.behaviour_log_prob.reshape(-1), old)
    return action, old, (~replaced | usable).astype(np.float32)


class Learner:
    """Owns the optimiser and the order of the minibatches; the networks are updated in place."""

    def __init__(self, networks: ActorCritic, config: PPOConfig, shuffle: np.random.Generator) -> None:
        self.networks, self.config, self.shuffle = networks, config, shuffle
        self.optimiser = Adam(len(networks.vector), eps=config.adam_eps)

    def update(self, batch: Batch, learning_rate: float) -> dict[str, float]:
        """`epochs` passes over shuffled minibatches, fewer past `target_kl`. Figures are minibatch means."""
        totals: dict[str, float] = {}
        count = 0
        first_error = 0.0
        for _ in range(self.config.epochs):
            kl = 0.0
            for minibatch in self._minibatches(batch):
                figures = self._step(minibatch, learning_rate)
                if count == 0:
                    first_error = figures["ratio_error"]
                for name, value in figures.items():
                    totals[name] = totals.get(name, 0.0) + value
                kl = figures["approx_kl"]
                count += 1
            if self.config.target_kl is not None and kl > self.config.target_kl:
                break
        if not np.isfinite(self.networks.vector).all():
            raise FloatingPointError(
                "the update made weights that are not finite; the last checkpoint stands"
            )
        means = {name: value / max(count, 1) for name, value in totals.items()}
        return {**means, "ratio_error": first_error, "updates": float(count)}

    def _minibatches(self, batch: Batch) -> Iterator[Batch]:
        shuffled = batch.take(self.shuffle.permutation(len(batch)))
        for rows in minibatch_slices(len(batch), self.config.minibatch):
            yield shuffled.take(rows)

    def _step(self, batch: Batch, learning_rate: float) -> dict[str, float]:
        policy = self._policy_gradient(batch)
        value = self._value_gradient(batch)
        networks, limit = self.networks, self.config.max_grad_norm
        clip_norm(networks.gradient[: networks.actor_size], limit)
        clip_row_norms(networks.critic_gradient.rows, limit)
        self.optimiser.step(networks.vector, networks.gradient, learning_rate)
        return {
            "policy_loss": policy.loss,
            "value_loss": value,
            "approx_kl": policy.approx_kl,
            "clip_fraction": policy.clip_fraction,
            "ratio_error": policy.worst_ratio_error,
        }

    def _policy_gradient(self, batch: Batch) -> losses.PolicyLoss:
        networks = self.networks
        tape = networks.actor.forward(batch.observation)
        mean = tape[-1][0]
        log_prob = losses.gaussian_log_prob(batch.action, mean, networks.log_std)
        advantage = losses.normalise_advantages(batch.advantage, batch.policy_weight)
        policy = losses.clipped_policy_loss(
            log_prob, batch.old_log_prob, advantage, batch.policy_weight, self.config.clip, batch.guided
        )
        by_mean, by_log_std = losses.gaussian_log_prob_gradient(batch.action, mean, networks.log_std)
        outer = policy.log_prob_gradient
        networks.actor.backward(tape, (outer[:, None] * by_mean)[None], networks.actor_gradient)
        networks.log_std_gradient[...] = outer @ by_log_std - np.float32(self.config.entropy_coef)
        return policy

    def _value_gradient(self, batch: Batch) -> float:
        networks = self.networks
        tape = networks.critics.forward(batch.observation)
        loss, slope = losses.value_loss(tape[-1][..., 0] + batch.prior, batch.target, batch.mask)
        networks.critics.backward(
            tape, (np.float32(self.config.value_coef) * slope)[..., None], networks.critic_gradient
        )
        return loss
