"""An answer may say inside which tube of observations it stays good. Outside, what is left of it is
abandoned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from agents.client.lane import Held, Registers

See = Callable[[str], np.ndarray]
"""The named tensor of the lane's observation at the step in question."""


def row_of(observations: Mapping[str, Any], row: int) -> See:
    return lambda name: np.asarray(observations[name])[row]


def has_tube(registers: Registers) -> bool:
    action = registers.action
    if action is not None and action.answer.valid_while is not None:
        return True
    return any(one.answer.valid_while is not None for one in registers.chunks)


def outside(held: Held, step: int, see: See) -> bool:
    """Whether |observation - expected[h]| exceeds the tolerance in any component, h = step - first step."""
    tube = held.answer.valid_while
    h = step - held.first_step
    if tube is None or not 0 <= h < len(tube.expected):
        return False
    distance = np.abs(np.ravel(see(tube.tensor)) - tube.expected[h])
    return bool((distance > np.asarray(tube.tolerance)).any())


def abandon(registers: Registers, step: int, see: See) -> tuple[Registers, list[Held]]:
    """The registers without what `step`'s observation has left, and what that was."""
    action = registers.action
    left = [one for one in registers.chunks if outside(one, step, see)]
    if action is not None and outside(action, step, see):
        left.append(action)
        action = None
    kept = tuple(one for one in registers.chunks if not any(one is other for other in left))
    return registers._replace(action=action, chunks=kept), left
