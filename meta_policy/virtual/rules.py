"""The shipped rules as the virtual clock knows them: the broker's formulas, with nothing imported from there.

`tests/meta_policy/test_rules.py` holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from meta_policy.view import Floats

RATE_SCALE = 3.0  # rad/s


def reflex(joints: slice, rates: slice, torso: list[int], gains: Floats) -> Callable[[Floats], Floats]:
    """u_i = k_i (p_i - q_i) + s_i tanh(q'_i / 3) + n_i tanh(q'_{i-1} / 3) + t_i tilt + r_i tilt' / 3
    + v_i (v_x - 1): `[B, J]` from `[B, O]`. Rows of `gains` `[7, J]`: k, p, s, n, t, r, v."""
    k, p, s, n, t, r, v = gains

    def rule(x: Floats) -> Floats:
        swinging = np.tanh(x[:, rates] / RATE_SCALE)
        tilt, tilt_rate, speed = (x[:, column : column + 1] for column in torso)
        posture = k * (p - x[:, joints]) + s * swinging + n * np.roll(swinging, 1, axis=1)
        torques: Floats = posture + t * tilt + r * tilt_rate / RATE_SCALE + v * (speed - 1.0)
        return torques

    return rule


HOPPER = np.array(
    [
        [0.61, 0.5, 0.5],
        [-0.24, 0.0, 0.15],
        [-0.33, -0.02, -0.86],
        [0.0, 0.23, 0.22],
        [0.0, -1.09, 0.0],
        [-0.01, -0.04, 0.1],
        [-0.57, 0.0, 0.04],
    ]
)
HALF_CHEETAH = np.array(
    [
        [0.13, 0.18, 0.12, 1.06, 0.45, 0.65],
        [0.51, 0.56, -0.08, 0.0, -0.13, -0.42],
        [-0.01, 1.12, 0.3, -0.25, -0.04, 0.53],
        [0.0, 0.0, 0.71, 0.05, 0.11, -0.02],
        [-0.41, 0.18, -0.66, 0.0, 0.56, 0.0],
        [0.0, 0.06, 0.0, -0.02, 0.42, -0.42],
        [0.61, 0.31, 0.0, -0.1, 0.14, 0.0],
    ]
)

RULES: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {
        "guidance/PerturbedHopper-v0": reflex(slice(2, 5), slice(8, 11), [1, 7, 5], HOPPER),
        "guidance/PerturbedHalfCheetah-v0": reflex(slice(2, 8), slice(11, 17), [1, 10, 8], HALF_CHEETAH),
    }
)
