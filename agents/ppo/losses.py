"""The losses of PPO as pure functions, each with its hand-written gradient. `[B]` is one minibatch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]
LOG_2PI = float(np.log(2.0 * np.pi))


def gaussian_log_prob(action: Float, mean: Float, log_std: Float) -> Float:
    """log N(a | mu, diag(sigma^2)), summed over action dimensions: `[B]` from `[B, A]`, `[B, A]`, `[A]`.

    `log_std` may also be `[B, A]`, one a row.
    = sum_j -0.5 * ((a_j - mu_j) / sigma_j)^2 - log sigma_j - 0.5 log 2 pi
    """
    z = (action - mean) * np.exp(-log_std)
    constant = log_std.sum(axis=-1) + np.float32(0.5 * LOG_2PI * log_std.shape[-1])
    result: Float = np.float32(-0.5) * np.einsum("ij,ij->i", z, z) - constant
    return result


def gaussian_log_prob_gradient(action: Float, mean: Float, log_std: Float) -> tuple[Float, Float]:
    """dlogp/dmu = (a - mu) / sigma^2 and dlogp/dlog sigma = ((a - mu) / sigma)^2 - 1, both `[B, A]`."""
    inverse = np.exp(-log_std)
    z = (action - mean) * inverse
    return z * inverse, z * z - np.float32(1.0)


def gaussian_entropy(log_std: Float) -> float:
    """H = sum_j log sigma_j + 0.5 (1 + log 2 pi). Its gradient in log sigma_j is 1."""
    return float(log_std.sum()) + 0.5 * (1.0 + LOG_2PI) * log_std.size


def normalise_advantages(advantages: Float, weights: Float) -> Float:
    """(A - mean) / std over the rows of weight 1, zeros elsewhere.

    Fewer than two such rows, or equal advantages, say nothing about which action was better: all zeros.
    """
    count = float(weights.sum())
    if count < 2.0:
        return np.zeros_like(advantages)
    mean = float(np.dot(weights, advantages)) / count
    centred = (advantages - np.float32(mean)) * weights
    std = float(np.sqrt(np.dot(centred, centred) / count))
    if std <= 1e-6 * (abs(mean) + 1e-6):
        return np.zeros_like(advantages)
    return centred * np.float32(1.0 / (std + 1e-8))


@dataclass(frozen=True, slots=True)
class PolicyLoss:
    """The clipped surrogate, dL/dlog pi `[B]`, and what is worth logging about the step."""

    loss: float
    log_prob_gradient: Float
    approx_kl: float
    clip_fraction: float
    worst_ratio_error: float


def clipped_policy_loss(
    log_prob: Float,
    old_log_prob: Float,
    advantages: Float,
    weights: Float,
    clip: float,
    guided: Float | None = None,
) -> PolicyLoss:
    """L = -sum_i w_i min(r_i A_i, clip(r_i, 1-e, 1+e) A_i) / sum_i w_i,  r_i = exp(log pi_i - log pi_old_i).

    dL/dlog pi_i = -w_i r_i A_i / sum w where the unclipped term is the smaller one, else 0
    (Schulman et al. 2017, eq. 7). KL is estimated as mean((r - 1) - log r).
    `worst_ratio_error` leaves out the rows where `guided` `[B]` is 1: their ratio starts away from 1.
    """
    total = np.float32(max(float(weights.sum()), 1.0))
    log_ratio = log_prob - old_log_prob
    ratio = np.exp(log_ratio)
    plain = ratio * advantages
    clipped = np.clip(ratio, np.float32(1.0 - clip), np.float32(1.0 + clip)) * advantages
    gradient = np.where(plain <= clipped, plain, np.float32(0.0)) * weights / -total
    apart = np.abs(ratio - np.float32(1.0)) * weights
    own = apart if guided is None else apart * (np.float32(1.0) - guided)
    return PolicyLoss(
        loss=float(-np.dot(weights, np.minimum(plain, clipped)) / total),
        log_prob_gradient=gradient,
        approx_kl=float(np.dot(weights, ratio - np.float32(1.0) - log_ratio) / total),
        clip_fraction=float(np.count_nonzero(apart > clip) / total),
        worst_ratio_error=float(own.max(initial=0.0)),
    )


def value_loss(values: Float, targets: Float, masks: Float) -> tuple[float, Float]:
    """L_k = 0.5 * sum_i m_ki (V_ki - G_ki)^2 / sum_i m_ki, all `[K, B]`: mean_k L_k, and dL_k/dV_ki.

    The members are apart: each sees its own target and its own bootstrap mask, and none shares a gradient.
    """
    error = (values - targets) * masks
    count = np.maximum(masks.sum(axis=1, keepdims=True), np.float32(1.0))
    per_member = np.float32(0.5) * np.einsum("kb,kb->k", error, error) / count[:, 0]
    return float(per_member.mean()), error / count
