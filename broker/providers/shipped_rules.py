"""Hand-written rules for the shipped tasks, vectorised over rows.

They are simple on purpose and far below a trained policy, some below doing nothing: `docs/providers.md` has
their returns. A free source that answers in microseconds, not an expert. Every rule reads the raw
``observation`` ``[B, O]`` of the stock Gymnasium v5 environment; its documentation has the table of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from protos.types import Tensors


def hopper(observations: Tensors) -> np.ndarray:
    """Hold a slightly flexed stance: PD on thigh, leg and foot, thigh and foot also against the torso's tilt.

    u_i = 1.5 (p_i - q_i) - 0.1 q'_i + b_i tilt. Columns: 1 tilt, 2-4 joints, 8-10 joint rates.
    """
    x = observations["observation"]
    stance = 1.5 * (_HOPPER_POSTURE - x[:, 2:5]) - 0.1 * x[:, 8:11]
    actions: np.ndarray = stance + x[:, 1:2] * _HOPPER_BALANCE
    return actions


def half_cheetah(observations: Tensors) -> np.ndarray:
    """Positive feedback of joint rates: legs swing on until springs and joint limits turn them.

    u_i = 0.3 sign(q'_i) - 0.5 q_i. Columns: 2-7 joints, 11-16 joint rates.
    """
    x = observations["observation"]
    actions: np.ndarray = 0.3 * np.sign(x[:, 11:17]) - 0.5 * x[:, 2:8]
    return actions


_HOPPER_POSTURE = np.array([-0.1, -0.2, 0.1])
_HOPPER_BALANCE = np.array([1.0, 0.0, -1.0])
RATE_SCALE = 3.0  # rad/s at which a reflex to a joint's rate begins to saturate
Gains = tuple[float, ...]


@dataclass(frozen=True)
class Reflexes:
    """Each joint for itself; the form is by hand, the gains are the best of a few dozen random changes.

    The torque of joint i, before the clip to the action's bounds:

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
        "guidance/PerturbedHopper-v0": hopper,
        "guidance/PerturbedWalker2d-v0": WALKER,
        "guidance/PerturbedHalfCheetah-v0": half_cheetah,
        "guidance/PerturbedAnt-v0": ANT,
    }
)
