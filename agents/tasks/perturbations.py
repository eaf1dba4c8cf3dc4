"""How hard each task is perturbed: the one place with the sizes.

A policy on the unperturbed tasks settles into one limit cycle, near-identical for every seed, so a gate
could memorise it. The sizes are part of the tasks' names: results are comparable only while they stand, and
a new size is a new `-vN`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Perturbation:
    """Sizes for one task."""

    reset_noise: float  # the physics' reset_noise_scale, m and rad (and m/s, rad/s)
    action_noise_std: float  # in units of the action, whose range is -1 ... 1
    kick_std: float  # m/s and rad/s, on every component of qvel
    kick_probability: float  # a step


# Hopper's episode ends at a lean of 0.2 rad, Walker2d's only at 1 rad, so that one takes more. HalfCheetah
# cannot fall and moves its joints at about 10 rad/s, so it takes the hardest kicks. Ant stands on four legs,
# yet a kick of its free body can turn it over.
PERTURBATIONS: Mapping[str, Perturbation] = MappingProxyType(
    {
        "guidance/PerturbedHopper-v0": Perturbation(0.02, 0.05, 0.6, 0.01),
        "guidance/PerturbedWalker2d-v0": Perturbation(0.02, 0.08, 0.8, 0.01),
        "guidance/PerturbedHalfCheetah-v0": Perturbation(0.1, 0.1, 1.5, 0.01),
        "guidance/PerturbedAnt-v0": Perturbation(0.1, 0.1, 1.0, 0.01),
    }
)
