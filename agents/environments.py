"""Environments by the name a user types: a benchmark task, or the stock environment it is made from."""

from __future__ import annotations

from functools import cache

from agents.tasks import TASKS, Task, TaskInfo, make_task
from agents.tasks.export import observation_names, observation_parts
from agents.tasks.physics import make_physics

STOCK = {info.stock_id: task_id for task_id, info in TASKS.items()}


def make(name: str) -> Task:
    """`guidance/PerturbedHopper-v0` and the like, or plain `Hopper-v5`; ValueError lists what there is."""
    return make_task(info_of(name).task_id, perturb=name in TASKS)


def info_of(name: str) -> TaskInfo:
    """The entry of the task table behind either name; ValueError lists what there is."""
    if STOCK.get(name, name) not in TASKS:
        raise ValueError(f"unknown task {name!r}; known: {', '.join([*TASKS, *STOCK])}")
    return TASKS[STOCK.get(name, name)]


@cache
def observation_names_of(name: str) -> tuple[str, ...]:
    """One name an observation component, such as `qvel.root.3`."""
    info = info_of(name)
    env = make_physics(info.stock_id)
    names = tuple(observation_names(env.model, observation_parts(info, env)))
    env.close()
    return names
