"""Benchmark tasks. Importing this package registers their Gymnasium ids.

>>> import gymnasium
>>> gymnasium.make("guidance/PerturbedHopper-v0").reset(seed=0)[0].shape
(11,)
"""

import gymnasium

from agents.tasks.info import TASKS, TaskInfo, task_info
from agents.tasks.model_shift import Shift
from agents.tasks.task import Task, make_task

__all__ = ["TASKS", "Shift", "Task", "TaskInfo", "make_task", "task_info"]

for _task_id in TASKS:
    if _task_id not in gymnasium.registry:
        gymnasium.register(
            _task_id,
            entry_point="agents.tasks.task:make_task",
            kwargs={"task_id": _task_id},
            disable_env_checker=True,  # it and the order enforcer cost time at every step
            order_enforce=False,
        )  # without max_episode_steps: the time limit is the task's own, so that it can be saved
