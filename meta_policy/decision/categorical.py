"""The masked categorical distribution over moves and its gradients, by hand; `[B, M]` are masked logits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meta_policy.view import Counts

Float = NDArray[np.float32]


def log_softmax(logits: Float) -> Float:
    """log p, `[B, M]`."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    result: Float = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result


def log_prob(log_p: Float, move: Counts) -> Float:
    """log p of the moves taken, `[B]`."""
    result: Float = log_p[np.arange(len(move)), move]
    return result


def log_prob_gradient(log_p: Float, move: Counts) -> Float:
    """d log p(move) / d logit_j = 1[j = move] - p_j, `[B, M]`."""
    gradient = -np.exp(log_p)
    gradient[np.arange(len(move)), move] += np.float32(1.0)
    return gradient


def entropy(log_p: Float) -> Float:
    """H = -sum_j p_j log p_j, `[B]`; an illegal move adds nothing."""
    result: Float = -(np.exp(log_p) * np.maximum(log_p, np.float32(-100.0))).sum(axis=1)
    return result


def entropy_gradient(log_p: Float, of: Float) -> Float:
    """dH / d logit_j = -p_j (log p_j + H), `[B, M]`; `of` is the entropy `[B]`."""
    clipped = np.maximum(log_p, np.float32(-100.0))
    result: Float = -np.exp(log_p) * (clipped + of[:, None])
    return result
