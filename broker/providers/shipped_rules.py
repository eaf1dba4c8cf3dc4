"""Hand-written rules for the shipped tasks, vectorised over rows.

They are simple on purpose and poor next to a trained policy: a free source that is sometimes better than
nothing. Every one reads the raw ``observation`` ``[B, O]`` of the stock Gymnasium v5 environment, whose
documentation has the table of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import numpy as np

from protos.types import Tensors


def hopper(observations: Tensors) -> np.ndarray:
    """Hold a slightly flexed stance: PD on thigh, leg and foot, the thigh also against the torso's tilt.

    u_i = k_i (target_i - q_i) - d_i q'_i. Columns: 1 tilt, 2-4 joints, 7 tilt rate, 8-10 joint rates.
    """
    x = observations["observation"]
    stance: np.ndarray = _towards(x, (2, 3, 4), (8, 9, 10), (-0.1, -0.2, 0.1), 1.5, 0.1)
    stance += x[:, 1:2] * _HOPPER_TILT
    return stance


_HOPPER_TILT = np.array([1.0, 0.0, -1.0])


def walker(observations: Tensors) -> np.ndarray:
    """Stand with one leg before the other: PD on all six joints. Columns: 2-7 joints, 11-16 joint rates."""
    x = observations["observation"]
    targets = (-0.3, -0.4, 0.1, 0.0, -0.2, 0.0)
    return _towards(x, range(2, 8), range(11, 17), targets, 1.5, 0.1)


def half_cheetah(observations: Tensors) -> np.ndarray:
    """Positive feedback of joint rates: legs swing on until springs and joint limits turn them.

    Columns: 2-7 joints, 11-16 joint rates.
    """
    x = observations["observation"]
    return 0.3 * np.sign(x[:, 11:17]) - 0.5 * x[:, 2:8]


def ant(observations: Tensors) -> np.ndarray:
    """Stand still with bent legs: PD on all eight joints, in the order of the motors.

    Columns: 5-12 joints (hip, ankle of legs 1-4), 19-26 joint rates; the motors begin with leg 4.
    """
    x = observations["observation"]
    targets = (0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0)
    joints = _towards(x, range(5, 13), range(19, 27), targets, 0.5, 0.05)
    return joints[:, _ANT_MOTORS]


_ANT_MOTORS = [6, 7, 0, 1, 2, 3, 4, 5]


def _towards(
    x: np.ndarray,
    joints: Iterable[int],
    rates: Iterable[int],
    targets: tuple[float, ...],
    stiffness: float,
    damping: float,
) -> np.ndarray:
    """u = stiffness (target - q) - damping q', ``[B, A]``."""
    q, dq = x[:, list(joints)], x[:, list(rates)]
    torques: np.ndarray = stiffness * (np.asarray(targets) - q) - damping * dq
    return torques


SHIPPED_RULES: Mapping[str, Callable[[Tensors], np.ndarray]] = MappingProxyType(
    {
        "guidance/PerturbedHopper-v0": hopper,
        "guidance/PerturbedWalker2d-v0": walker,
        "guidance/PerturbedHalfCheetah-v0": half_cheetah,
        "guidance/PerturbedAnt-v0": ant,
    }
)
