"""Stacks of small tanh networks with hand-written gradients on one flat float32 vector.

For 64x64 networks and minibatches of 64 the arithmetic is cheaper than an autograd graph: the same update
costs about a quarter of the time here. The tests of the learner hold the gradients against torch's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class StackShape:
    """K networks of one shape: `sizes` = (inputs, hidden, ..., outputs)."""

    members: int
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.members < 1 or len(self.sizes) < 2 or min(self.sizes) < 1:
            raise ValueError(f"a stack needs members >= 1 and two or more positive sizes, got {self}")

    @property
    def parameters_per_member(self) -> int:
        return sum(fan_in * fan_out + fan_out for fan_in, fan_out in self.links)

    @property
    def parameters(self) -> int:
        return self.members * self.parameters_per_member

    @property
    def links(self) -> tuple[tuple[int, int], ...]:
        return tuple(zip(self.sizes[:-1], self.sizes[1:], strict=True))


class MlpStack:
    """K separate tanh MLPs. Their weights `[K, in, out]` and biases `[K, 1, out]` are views on `vector`.

    The vector is member-major, `[K, P]` flattened, so that one member is one contiguous row.
    """

    def __init__(self, shape: StackShape, vector: Float) -> None:
        if vector.shape != (shape.parameters,) or vector.dtype != np.float32:
            raise ValueError(
                f"{shape} needs a float32 vector of {shape.parameters}, got {vector.dtype} {vector.shape}"
            )
        self.shape = shape
        self.rows = vector.reshape(shape.members, shape.parameters_per_member)
        self.weights: list[Float] = []
        self.biases: list[Float] = []
        start = 0
        for fan_in, fan_out in shape.links:
            end = start + fan_in * fan_out
            self.weights.append(self.rows[:, start:end].reshape(shape.members, fan_in, fan_out))
            self.biases.append(self.rows[:, end : end + fan_out].reshape(shape.members, 1, fan_out))
            start = end + fan_out

    def __call__(self, inputs: Float) -> Float:
        """Outputs `[K, B, out]` for inputs `[B, in]` seen by every member."""
        return self.forward(inputs)[-1]

    def forward(self, inputs: Float) -> list[Float]:
        """Every layer's activation, inputs first: `[B, in], [K, B, hidden], ..., [K, B, out]`."""
        tape = [inputs]
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = np.matmul(tape[-1], weight)
            hidden += bias
            if i < last:
                np.tanh(hidden, out=hidden)
            tape.append(hidden)
        return tape

    def backward(self, tape: list[Float], output_gradient: Float, into: MlpStack) -> None:
        """Write dL/dparameters into the views of `into`, given dL/doutput `[K, B, out]`.

        With h_i = tanh(h_{i-1} W_i + b_i):  dW_i = h_{i-1}^T g_i,  db_i = sum_B g_i,
        g_{i-1} = (g_i W_i^T) * (1 - h_{i-1}^2).
        """
        flow = output_gradient
        for i in range(len(self.weights) - 1, -1, -1):
            below = tape[i]
            np.matmul(np.swapaxes(below, -1, -2), flow, out=into.weights[i])
            np.sum(flow, axis=1, keepdims=True, out=into.biases[i])
            if i > 0:
                flow = np.matmul(flow, np.swapaxes(self.weights[i], -1, -2))
                slope = below * below
                np.subtract(1.0, slope, out=slope)
                flow *= slope


def orthogonal(rng: np.random.Generator, fan_in: int, fan_out: int, gain: float) -> Float:
    """A (semi-)orthogonal `[in, out]` matrix times `gain` (Saxe et al. 2014): QR, the signs made unique."""
    tall = rng.standard_normal((max(fan_in, fan_out), min(fan_in, fan_out)))
    q, r = np.linalg.qr(tall)
    q = q * np.sign(np.diag(r))
    return (gain * (q if fan_in >= fan_out else q.T)).astype(np.float32)


def initialise(stack: MlpStack, rng: np.random.Generator, head_gain: float) -> None:
    """Orthogonal weights, gain sqrt(2) in the hidden layers and `head_gain` in the last; zero biases."""
    for layer, (fan_in, fan_out) in enumerate(stack.shape.links):
        gain = head_gain if layer == len(stack.weights) - 1 else float(np.sqrt(2.0))
        stack.biases[layer][...] = 0.0
        for member in range(stack.shape.members):
            stack.weights[layer][member] = orthogonal(rng, fan_in, fan_out, gain)


class ActorCritic:
    """A Gaussian actor and K critics with fixed random priors, on one flat vector and one gradient vector.

    V_k(s) = f_k(s) + prior_scale * p_k(s), p_k never trained (randomized priors, Osband et al. 2018).
    Vector layout: actor | log_std | critics.
    """

    def __init__(
        self, inputs: int, actions: int, hidden: tuple[int, ...], members: int, prior_scale: float
    ) -> None:
        actor = StackShape(1, (inputs, *hidden, actions))
        critics = StackShape(members, (inputs, *hidden, 1))
        self.prior_scale = np.float32(prior_scale)
        self.actor_size = actor.parameters + actions
        self.vector = np.zeros(self.actor_size + critics.parameters, np.float32)
        self.gradient = np.zeros_like(self.vector)
        self.prior_vector = np.zeros(critics.parameters, np.float32)
        self.priors = MlpStack(critics, self.prior_vector)
        self.actor, self.log_std, self.critics = self._views(actor, critics, self.vector)
        self.actor_gradient, self.log_std_gradient, self.critic_gradient = self._views(
            actor, critics, self.gradient
        )

    def _views(
        self, actor: StackShape, critics: StackShape, vector: Float
    ) -> tuple[MlpStack, Float, MlpStack]:
        log_std = vector[actor.parameters : self.actor_size]
        return (
            MlpStack(actor, vector[: actor.parameters]),
            log_std,
            MlpStack(critics, vector[self.actor_size :]),
        )

    def initialise(self, rng: np.random.Generator, log_std: float) -> None:
        """Small policy head (0.01), unit value heads, every member and prior drawn apart."""
        initialise(self.actor, rng, head_gain=0.01)
        initialise(self.critics, rng, head_gain=1.0)
        initialise(self.priors, rng, head_gain=1.0)
        self.log_std[...] = log_std

    def mean(self, inputs: Float) -> Float:
        """Action means `[B, A]` for normalised observations `[B, O]`."""
        return self.actor(inputs)[0]

    def prior(self, inputs: Float) -> Float:
        """The fixed part of every member's value, `[K, B]`."""
        return self.prior_scale * self.priors(inputs)[..., 0]

    def values(self, inputs: Float) -> Float:
        """Values `[K, B]` in units of the scaled reward."""
        return self.critics(inputs)[..., 0] + self.prior(inputs)
