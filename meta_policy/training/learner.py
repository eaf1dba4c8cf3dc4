"""PPO over the semi-MDP of asking: rollout columns in, a better head and a handful of figures out.

A move that holds for n steps is an option. Advantages are computed over primitive control steps, so that its
discount is gamma^n by itself (Sutton, Precup and Singh 1999); steps without a choice train only the critic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.networks import MlpStack, StackShape, initialise
from agents.ppo.adam import Adam, clip_norm
from agents.ppo.losses import clipped_policy_loss, normalise_advantages, value_loss
from meta_policy.decision.categorical import (
    entropy,
    entropy_gradient,
    log_prob,
    log_prob_gradient,
    log_softmax,
)
from meta_policy.decision.head import masked
from meta_policy.training.config import HeadConfig
from meta_policy.view import Counts, Flags

Float = NDArray[np.float32]


class Networks:
    """Actor and critic of a head on one flat vector: actor | critic."""

    def __init__(self, features: int, moves: int, hidden: tuple[int, ...]) -> None:
        self._shapes = (StackShape(1, (features, *hidden, moves)), StackShape(1, (features, *hidden, 1)))
        self.actor_size = self._shapes[0].parameters
        self.vector = np.zeros(self.actor_size + self._shapes[1].parameters, np.float32)
        self.gradient = np.zeros_like(self.vector)
        self.actor, self.critic = self._views(self.vector)
        self.actor_gradient, self.critic_gradient = self._views(self.gradient)

    def _views(self, vector: Float) -> tuple[MlpStack, MlpStack]:
        actor, critic = self._shapes
        return MlpStack(actor, vector[: self.actor_size]), MlpStack(critic, vector[self.actor_size :])

    def initialise(self, rng: np.random.Generator, move_bias: Float) -> None:
        """Orthogonal, a nearly state-blind actor whose first guess is `move_bias` `[M]`."""
        initialise(self.actor, rng, head_gain=0.01)
        initialise(self.critic, rng, head_gain=1.0)
        self.actor.biases[-1][0, 0] = move_bias

    def value(self, seen: Float) -> Float:
        """`[B]`"""
        value: Float = self.critic(seen)[0, :, 0]
        return value


@dataclass(frozen=True, slots=True)
class Batch:
    """N primitive steps. `decides` is 1 where the row had a choice."""

    seen: Float  # [N, F]
    legal: Flags  # [N, M]
    move: Counts  # [N]
    old_log_prob: Float  # [N]
    advantage: Float  # [N]
    target: Float  # [N]
    decides: Float  # [N]

    def __len__(self) -> int:
        return len(self.move)

    def take(self, rows: NDArray[np.integer] | slice) -> Batch:
        return Batch(
            self.seen[rows],
            self.legal[rows],
            self.move[rows],
            self.old_log_prob[rows],
            self.advantage[rows],
            self.target[rows],
            self.decides[rows],
        )


class Learner:
    """Owns the optimiser and the order of minibatches; the networks are updated in place."""

    def __init__(self, networks: Networks, config: HeadConfig, shuffle: np.random.Generator) -> None:
        self.networks, self.config, self.shuffle = networks, config, shuffle
        self.optimiser = Adam(len(networks.vector), eps=1e-5)

    def update(self, batch: Batch, learning_rate: float, entropy_coef: float) -> dict[str, float]:
        """`epochs` passes over shuffled minibatches; figures are their means."""
        figures = [
            self._step(minibatch, learning_rate, entropy_coef)
            for _ in range(self.config.epochs)
            for minibatch in self._minibatches(batch)
        ]
        return {name: float(np.mean([f[name] for f in figures])) for name in figures[0]}

    def _minibatches(self, batch: Batch) -> Iterator[Batch]:
        shuffled = batch.take(self.shuffle.permutation(len(batch)))
        for start in range(0, len(batch), self.config.minibatch):
            yield shuffled.take(slice(start, start + self.config.minibatch))

    def _step(self, batch: Batch, learning_rate: float, entropy_coef: float) -> dict[str, float]:
        figures = self._policy_gradient(batch, entropy_coef) | {"value_loss": self._value_gradient(batch)}
        actor = self.networks.actor_size
        clip_norm(self.networks.gradient[:actor], self.config.max_grad_norm)
        clip_norm(self.networks.gradient[actor:], self.config.max_grad_norm)
        self.optimiser.step(self.networks.vector, self.networks.gradient, learning_rate)
        return figures

    def _policy_gradient(self, batch: Batch, entropy_coef: float) -> dict[str, float]:
        """Gradient of the clipped surrogate minus entropy_coef x mean entropy, over rows with a choice."""
        rows = np.flatnonzero(batch.decides)
        chosen = batch.take(rows)
        tape = self.networks.actor.forward(chosen.seen)
        log_p = log_softmax(masked(tape[-1][0], chosen.legal))
        advantage = normalise_advantages(chosen.advantage, chosen.decides)
        now = log_prob(log_p, chosen.move)
        loss = clipped_policy_loss(now, chosen.old_log_prob, advantage, chosen.decides, self.config.clip)
        disorder = entropy(log_p)
        gradient = loss.log_prob_gradient[:, None] * log_prob_gradient(log_p, chosen.move)
        gradient -= np.float32(entropy_coef / max(len(rows), 1)) * entropy_gradient(log_p, disorder)
        self.networks.actor.backward(tape, gradient[None], self.networks.actor_gradient)
        mean_entropy = float(disorder.mean()) if len(rows) else 0.0
        return {"policy_loss": loss.loss, "approx_kl": loss.approx_kl, "entropy": mean_entropy}

    def _value_gradient(self, batch: Batch) -> float:
        tape = self.networks.critic.forward(batch.seen)
        every = np.ones((1, len(batch)), np.float32)
        loss, slope = value_loss(tape[-1][..., 0], batch.target[None], every)
        self.networks.critic.backward(tape, slope[..., None], self.networks.critic_gradient)
        return loss
