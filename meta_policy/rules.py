"""The shipped rules as the virtual clock knows them: the broker's formulas, with nothing imported from there.

`tests/meta_policy/test_rules.py` holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from meta_policy.view import Floats


def hopper(x: Floats) -> Floats:
    """Stance by PD on thigh, leg and foot, and against the torso's tilt: `[B, 3]` from `[B, 11]`."""
    stance = 1.5 * (np.array([-0.1, -0.2, 0.1]) - x[:, 2:5]) - 0.1 * x[:, 8:11]
    tilted: Floats = stance + x[:, 1:2] * np.array([1.0, 0.0, -1.0])
    return tilted


def half_cheetah(x: Floats) -> Floats:
    """Positive feedback of joint rates: `[B, 6]` from `[B, 17]`."""
    swing: Floats = 0.3 * np.sign(x[:, 11:17]) - 0.5 * x[:, 2:8]
    return swing


RULES: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {"guidance/PerturbedHopper-v0": hopper, "guidance/PerturbedHalfCheetah-v0": half_cheetah}
)
