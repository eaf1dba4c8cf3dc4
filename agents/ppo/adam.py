"""Adam on one flat vector, and the gradient clips that go before it."""

from __future__ import annotations

import numpy as np

from agents.networks import Float


class Adam:
    """Kingma and Ba 2015, algorithm 1, in place on float32.

    m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;  p -= lr * (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps)
    """

    def __init__(self, size: int, eps: float, beta1: float = 0.9, beta2: float = 0.999) -> None:
        self.eps, self.beta1, self.beta2 = eps, beta1, beta2
        self.first = np.zeros(size, np.float32)
        self.second = np.zeros(size, np.float32)
        self.steps = 0
        self._scratch = np.zeros(size, np.float32)

    def step(self, parameters: Float, gradient: Float, learning_rate: float) -> None:
        self.steps += 1
        scratch = self._scratch
        self.first *= np.float32(self.beta1)
        np.multiply(gradient, np.float32(1.0 - self.beta1), out=scratch)
        self.first += scratch
        self.second *= np.float32(self.beta2)
        np.multiply(gradient, gradient, out=scratch)
        scratch *= np.float32(1.0 - self.beta2)
        self.second += scratch
        np.sqrt(self.second, out=scratch)
        scratch *= np.float32(1.0 / np.sqrt(1.0 - self.beta2**self.steps))
        scratch += np.float32(self.eps)
        np.divide(self.first, scratch, out=scratch)
        scratch *= np.float32(learning_rate / (1.0 - self.beta1**self.steps))
        parameters -= scratch


def clip_norm(gradient: Float, limit: float) -> float:
    """Scale `gradient` in place so that its 2-norm is at most `limit`; the norm before comes back."""
    norm = float(np.sqrt(np.dot(gradient, gradient)))
    if norm > limit:
        gradient *= np.float32(limit / (norm + 1e-6))
    return norm


def clip_row_norms(gradients: Float, limit: float) -> None:
    """The same for every row of `[K, P]` apart, so that no member's gradient shrinks another's."""
    norms = np.sqrt(np.einsum("kp,kp->k", gradients, gradients))
    scale = np.minimum(np.float32(1.0), np.float32(limit) / (norms + np.float32(1e-6)))
    if (scale < 1.0).any():
        gradients *= scale[:, None]
