"""Environments by the name a user types: a benchmark task, or the stock environment it is made from."""

from __future__ import annotations

from agents.tasks import TASKS, Task, make_task

STOCK = {info.stock_id: task_id for task_id, info in TASKS.items()}


def make(name: str) -> Task:
    """`guidance/PerturbedHopper-v0` and the like, or plain `Hopper-v5`; ValueError lists what there is."""
    if name in TASKS:
        return make_task(name)
    if name in STOCK:
        return make_task(STOCK[name], perturb=False)
    raise ValueError(f"unknown task {name!r}; known: {', '.join([*TASKS, *STOCK])}")
