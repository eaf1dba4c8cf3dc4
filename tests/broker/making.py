"""Small ingredients of the broker's tests: queries, a task folder, a policy file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from broker.providers.interface import Call
from broker.setup.task_folder import TaskFolder
from protos.types import AskOptions, BoxAction, Query, TensorSpec

TASK = "guidance/PerturbedHopper-v0"


def a_task(task: str = TASK, inputs: int = 11, actions: int = 3) -> TaskFolder:
    return TaskFolder(
        task=task,
        observations=(TensorSpec("observation", np.dtype(np.float64), (inputs,)),),
        action=BoxAction((actions,), (-1.0,) * actions, (1.0,) * actions, tuple("abcdefgh"[:actions])),
        period_us=8_000,
        safe_action=(0.0,) * actions,
    )


def a_query(rows: int = 1, inputs: int = 11, options: AskOptions | None = None, seed: int = 0) -> Query:
    observations = np.random.default_rng(seed).standard_normal((rows, inputs))
    return Query(
        options=options or AskOptions(),
        lanes=list(range(rows)),
        ask_ids=[100 + row for row in range(rows)],
        episodes=[7] * rows,
        steps=[3] * rows,
        observations={"observation": observations},
    )


def a_call(deadline: float = 1e9, task: str = TASK) -> Call:
    return Call("tenant", task, deadline)


def write_policy(path: Path, inputs: int = 11, actions: int = 3, hidden: int = 8, **changes: object) -> Path:
    """A small random policy as exported; ``changes`` replace top-level entries of its description."""
    rng = np.random.default_rng(0)
    sizes = (inputs, hidden, actions)
    tensors: dict[str, np.ndarray] = {
        "norm.mean": rng.standard_normal(inputs),
        "norm.std": np.full(inputs, 2.0),
        "log_std": np.zeros(actions, np.float32),
    }
    for i in range(2):
        tensors[f"actor.{i}.weight"] = rng.standard_normal((sizes[i + 1], sizes[i])).astype(np.float32)
        tensors[f"actor.{i}.bias"] = rng.standard_normal(sizes[i + 1]).astype(np.float32)
    description = {
        "format": 1,
        "task": TASK,
        "actor": {"layers": 2, "activation": "tanh", "head": "gaussian"},
        "normaliser": {"clip": 10.0, "count": 5},
        "observation": {"name": "observation", "shape": [inputs], "dtype": "float64"},
        "action": {"shape": [actions], "dtype": "float32", "low": [-1.0] * actions, "high": [1.0] * actions},
    } | changes
    save_file(tensors, path, {"guidance.policy": json.dumps(description)})
    return path
