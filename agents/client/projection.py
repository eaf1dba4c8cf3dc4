"""Nearest points of a box cut by half-spaces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protos.types import HalfSpace

Bound = NDArray[np.float64] | None
Point = NDArray[np.float64]
TOLERANCE = 1e-9
FEASIBLE = 1e-6
"""How far past a half-space, in units of `normal . action`, still counts as inside."""
MAX_ROUNDS = 200


def nearest(
    action: NDArray[np.generic], low: Bound, high: Bound, half_spaces: Sequence[HalfSpace]
) -> NDArray[np.generic] | None:
    """The point of the set nearest to `action` `[A]`, in its dtype; `action` itself, the same object, when
    inside.

    The bounds hold exactly, the half-spaces to within 1e-6; None where no point found satisfies both.
    """
    boxed = _clip(action, low, high)
    inside = bool((boxed == action).all())
    if not half_spaces:
        return action if inside else boxed.astype(action.dtype)
    values = action.astype(np.float64)
    if inside and _worst(values, half_spaces) <= TOLERANCE:
        return action
    projected = _project(values, low, high, half_spaces)
    return projected.astype(action.dtype) if _worst(projected, half_spaces) <= FEASIBLE else None


def contradictory(low: Bound, high: Bound, half_spaces: Sequence[HalfSpace]) -> bool:
    """Whether no action satisfies all of them."""
    if low is not None and high is not None and bool((low > high).any()):
        return True
    if not half_spaces:
        return False
    return nearest(np.zeros(len(half_spaces[0].normal)), low, high, half_spaces) is None


def _project(action: Point, low: Bound, high: Bound, half_spaces: Sequence[HalfSpace]) -> Point:
    """clip(action - sum_i m_i * normal_i) with the multipliers m >= 0 that maximise the dual, one after
    another.

    Each multiplier is found exactly with the others held, so one half-space takes one round. Hildreth (1957),
    "A quadratic programming procedure", with the box kept inside the projection.
    """
    normals = np.array([half.normal for half in half_spaces], dtype=np.float64)
    multipliers = np.zeros(len(half_spaces))
    for _ in range(MAX_ROUNDS):
        moved = 0.0
        for i, half in enumerate(half_spaces):
            others = multipliers.copy()
            others[i] = 0.0
            found = _multiplier(action - others @ normals, normals[i], half.offset, low, high)
            moved = max(moved, abs(found - multipliers[i]))
            multipliers[i] = found
        if moved <= TOLERANCE or len(half_spaces) == 1:
            break
    return np.asarray(_clip(action - multipliers @ normals, low, high))


def _multiplier(point: Point, normal: Point, offset: float, low: Bound, high: Bound) -> float:
    """The smallest m >= 0 with normal . clip(point - m * normal) <= offset; the excess falls piecewise
    linearly in m.

    Where even the far end of the box exceeds the offset, the m that reaches it.
    """

    def excess(m: float) -> float:
        return float(np.dot(normal, _clip(point - m * normal, low, high))) - offset

    left, above = 0.0, excess(0.0)
    if above <= 0.0:
        return 0.0
    for m in _kinks(point, normal, low, high):
        value = excess(m)
        if value <= 0.0:
            return left + (m - left) * above / (above - value)
        left, above = m, value
    slope = above - excess(left + 1.0)
    return left + above / slope if slope > 0.0 else left


def _kinks(point: Point, normal: Point, low: Bound, high: Bound) -> list[float]:
    """Where a component of point - m * normal meets a bound, m > 0, rising."""
    moving = normal != 0.0
    kinks: list[float] = []
    for bound in (low, high):
        if bound is not None:
            at = (point - bound)[moving] / normal[moving]
            kinks += at[np.isfinite(at) & (at > 0.0)].tolist()
    return sorted(kinks)


def _clip(action: NDArray[np.generic], low: Bound, high: Bound) -> NDArray[np.generic]:
    if low is not None:
        action = np.maximum(action, low)
    return action if high is None else np.minimum(action, high)


def _worst(action: NDArray[np.generic], half_spaces: Sequence[HalfSpace]) -> float:
    return max(float(np.dot(half.normal, action)) - half.offset for half in half_spaces)
