"""Nearest points of a box cut by half-spaces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protos.types import HalfSpace

Bound = NDArray[np.float64] | None
TOLERANCE = 1e-9
MAX_ROUNDS = 200


def nearest(
    action: NDArray[np.generic], low: Bound, high: Bound, half_spaces: Sequence[HalfSpace]
) -> NDArray[np.generic]:
    """The point of the set nearest to `action` `[A]`, in its dtype; `action` itself, the same object, when
    inside.

    The bounds hold exactly; a half-space to within 1e-9 of its offset (and the rounding of `action`'s dtype).
    """
    boxed = _clip(action, low, high)
    if not half_spaces:
        return action if (boxed == action).all() else boxed.astype(action.dtype)
    values = action.astype(np.float64)
    if (boxed == action).all() and _worst(values, half_spaces) <= TOLERANCE:
        return action
    projected = _dykstra(values, low, high, half_spaces)
    return _clip(projected, low, high).astype(action.dtype)


def contradictory(low: Bound, high: Bound, half_spaces: Sequence[HalfSpace]) -> bool:
    """Whether no action satisfies all of them."""
    if low is not None and high is not None and bool((low > high).any()):
        return True
    if not half_spaces:
        return False
    start = np.zeros(len(half_spaces[0].normal))
    found = _dykstra(_clip(start, low, high), low, high, half_spaces)
    return _worst(_clip(found, low, high), half_spaces) > 1e-6


def _clip(action: NDArray[np.generic], low: Bound, high: Bound) -> NDArray[np.generic]:
    if low is not None:
        action = np.maximum(action, low)
    return action if high is None else np.minimum(action, high)


def _worst(action: NDArray[np.generic], half_spaces: Sequence[HalfSpace]) -> float:
    return max(float(np.dot(half.normal, action)) - half.offset for half in half_spaces)


def _dykstra(
    action: NDArray[np.generic], low: Bound, high: Bound, half_spaces: Sequence[HalfSpace]
) -> NDArray[np.float64]:
    """Alternating projections with corrections: converges to the nearest point of an intersection of convex
    sets.

    Boyle and Dykstra (1986), "A method for finding projections onto the intersection of convex sets in
    Hilbert spaces".
    """
    point = np.array(action, dtype=np.float64)
    corrections = np.zeros((len(half_spaces) + 1, point.size))
    for _ in range(MAX_ROUNDS):
        before = point.copy()
        for i, half in enumerate((None, *half_spaces)):
            shifted = point + corrections[i]
            point = np.asarray(_clip(shifted, low, high)) if half is None else _onto(shifted, half)
            corrections[i] = shifted - point
        if np.abs(point - before).max() < TOLERANCE * 0.01 and _worst(point, half_spaces) <= TOLERANCE:
            break
    return point


def _onto(point: NDArray[np.float64], half: HalfSpace) -> NDArray[np.float64]:
    normal = np.asarray(half.normal, dtype=np.float64)
    excess = float(normal @ point) - half.offset
    square = float(normal @ normal)
    return point if excess <= 0.0 or square == 0.0 else point - (excess / square) * normal
