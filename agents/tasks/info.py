"""The table of tasks: what a client, a provider or a report must know about one without building it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One benchmark task. Actions are torques scaled to -1 ... 1; all zero is the declared safe action."""

    task_id: str
    stock_id: str  # the Gymnasium v5 environment whose physics and reward it has
    period_us: int  # control period
    max_steps: int  # an episode is truncated after so many steps
    observation_dim: int
    action_names: tuple[str, ...]  # of the actuators, or of the joints they drive where these have no name

    @property
    def action_dim(self) -> int:
        return len(self.action_names)

    @property
    def action_low(self) -> tuple[float, ...]:
        return (-1.0,) * self.action_dim

    @property
    def action_high(self) -> tuple[float, ...]:
        return (1.0,) * self.action_dim

    @property
    def safe_action(self) -> tuple[float, ...]:
        return (0.0,) * self.action_dim


_LEG = ("thigh_joint", "leg_joint", "foot_joint")
_TASKS = (
    TaskInfo("guidance/PerturbedHopper-v0", "Hopper-v5", 8_000, 1000, 11, _LEG),
    TaskInfo(
        "guidance/PerturbedWalker2d-v0",
        "Walker2d-v5",
        8_000,
        1000,
        17,
        (*_LEG, "thigh_left_joint", "leg_left_joint", "foot_left_joint"),
    ),
    TaskInfo(
        "guidance/PerturbedHalfCheetah-v0",
        "HalfCheetah-v5",
        50_000,
        1000,
        17,
        ("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot"),
    ),
    TaskInfo(
        "guidance/PerturbedAnt-v0",
        "Ant-v5",
        50_000,
        1000,
        105,
        ("hip_4", "ankle_4", "hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3"),
    ),
)

TASKS: Mapping[str, TaskInfo] = MappingProxyType({task.task_id: task for task in _TASKS})


def task_info(task_id: str) -> TaskInfo:
    """The entry of `task_id`; a KeyError names the known ones.

    >>> task_info("guidance/PerturbedHopper-v0").period_us
    8000
    """
    if task_id not in TASKS:
        raise KeyError(f"unknown task {task_id!r}; known: {', '.join(TASKS)}")
    return TASKS[task_id]
