"""Hand-written rules for the shipped tasks, vectorised over rows.

Simple joint reflexes, each joint for itself: a spring to a posture, a damper (or, where a leg should swing
on, its opposite), a little of the neighbour's motion, and a correction for the torso's tilt and speed. The
form is by hand, the gains are the best of a few dozen random changes, rounded. They are far below a trained
policy: a free source that is sometimes better than nothing. `docs/providers.md` has their returns.

Every rule reads the raw ``observation`` ``[B, O]`` of the stock Gymnasium v5 environment, whose documentation
has the table of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from protos.types import Tensors

RATE_SCALE = 3.0  # rad/s at which a reflex to a joint's rate begins to saturate
Gains = tuple[float, ...]


@dataclass(frozen=True)
class Reflexes:
    """The torque of joint i, before the clip to the action's bounds:

        u_i = k_i (p_i - q_i) + s_i tanh(q'_i / 3) + n_i tanh(q'_{i-1} / 3)
              + t_i tilt + r_i tilt' / 3 + v_i (v_x - 1)

    with q, q' ``[B, J]`` the joints' angles and rates. ``motors`` lists the joints in the order of the
    actions. Without ``torso`` the second line is left out.
    """

    joints: Sequence[int]  # columns of q
    rates: Sequence[int]  # columns of q'
    stiffness: Gains
    posture: Gains
    swing: Gains
    neighbour: Gains
    torso: Sequence[int] = ()  # columns of tilt, tilt', v_x
    tilt: Gains = ()
    tilt_rate: Gains = ()
    speed: Gains = ()
    motors: Sequence[int] = ()
    _columns: np.ndarray = field(init=False)
    _weights: np.ndarray = field(init=False)  # [F, A]
    _offset: np.ndarray = field(init=False)  # [A]

    def __post_init__(self) -> None:
        size = len(self.joints)
        motors = list(self.motors or range(size))
        neighbours = np.roll(np.diag(self.neighbour), -1, axis=0)
        blocks = [np.diag(self.swing) + neighbours, -np.diag(self.stiffness)]
        offset = np.multiply(self.stiffness, self.posture)
        if self.torso:
            tilt_rate = np.asarray(self.tilt_rate) / RATE_SCALE
            blocks.append(np.stack([self.tilt, tilt_rate, self.speed]))
            offset = offset - np.asarray(self.speed)
        object.__setattr__(self, "_columns", np.array([*self.rates, *self.joints, *self.torso]))
        object.__setattr__(self, "_weights", np.concatenate(blocks)[:, motors])
        object.__setattr__(self, "_offset", offset[motors])

    def __call__(self, observations: Tensors) -> np.ndarray:
        """Actions ``[B, A]`` for named observations ``[B, O]``."""
        seen = observations["observation"].take(self._columns, axis=1).astype(np.float64, copy=False)
        rates = seen[:, : len(self.joints)]
        np.tanh(rates / RATE_SCALE, out=rates)
        actions: np.ndarray = seen @ self._weights
        actions += self._offset
        return actions


HOPPER = Reflexes(
    joints=(2, 3, 4),
    rates=(8, 9, 10),
    torso=(1, 7, 5),
    stiffness=(0.61, 0.5, 0.5),
    posture=(-0.24, 0.0, 0.15),
    swing=(-0.33, -0.02, -0.86),
    neighbour=(0.0, 0.23, 0.22),
    tilt=(0.0, -1.09, 0.0),
    tilt_rate=(-0.01, -0.04, 0.1),
    speed=(-0.57, 0.0, 0.04),
)

WALKER = Reflexes(
    joints=range(2, 8),
    rates=range(11, 17),
    torso=(1, 10, 8),
    stiffness=(0.5, 0.5, 0.5, 0.5, 0.62, 0.5),
    posture=(0.0, 0.0, -0.1, 0.0, 0.0, 0.0),
    swing=(-0.05, -0.1, -0.21, -0.06, -0.1, -0.32),
    neighbour=(0.2, 0.05, 0.0, 0.0, -0.47, 0.0),
    tilt=(0.24, 0.0, 0.0, -0.02, 0.0, 0.0),
    tilt_rate=(0.0,) * 6,
    speed=(0.19, -0.18, -0.24, -0.4, 0.26, 0.0),
)

HALF_CHEETAH = Reflexes(
    joints=range(2, 8),
    rates=range(11, 17),
    torso=(1, 10, 8),
    stiffness=(0.13, 0.18, 0.12, 1.06, 0.45, 0.65),
    posture=(0.51, 0.56, -0.08, 0.0, -0.13, -0.42),
    swing=(-0.01, 1.12, 0.3, -0.25, -0.04, 0.53),
    neighbour=(0.0, 0.0, 0.71, 0.05, 0.11, -0.02),
    tilt=(-0.41, 0.18, -0.66, 0.0, 0.56, 0.0),
    tilt_rate=(0.0, 0.06, 0.0, -0.02, 0.42, -0.42),
    speed=(0.61, 0.31, 0.0, -0.1, 0.14, 0.0),
)

ANT = Reflexes(
    joints=range(5, 13),
    rates=range(19, 27),
    motors=(6, 7, 0, 1, 2, 3, 4, 5),  # the motors begin with leg 4
    stiffness=(0.5,) * 8,
    posture=(0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0),
    swing=(-0.15,) * 8,
    neighbour=(0.0,) * 8,
)

SHIPPED_RULES: Mapping[str, Callable[[Tensors], np.ndarray]] = MappingProxyType(
    {
        "guidance/PerturbedHopper-v0": HOPPER,
        "guidance/PerturbedWalker2d-v0": WALKER,
        "guidance/PerturbedHalfCheetah-v0": HALF_CHEETAH,
        "guidance/PerturbedAnt-v0": ANT,
    }
)
