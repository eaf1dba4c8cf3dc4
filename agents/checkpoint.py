"""Saving a run so that it goes on bit for bit: one safetensors file with the JSON part in its metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from agents.files import write_atomically

SCHEMA = 1
KEY = "guidance.checkpoint"
STATISTICS = ("norm.mean", "norm.m2", "norm.count", "env_scale.accumulated")


class CheckpointError(ValueError):
    """The checkpoint cannot be used; the message says why."""


def save_checkpoint(path: Path, arrays: dict[str, np.ndarray], values: dict[str, Any]) -> None:
    """Write atomically. `values` must be JSON; integers of any size are kept exactly."""
    owned = {name: np.ascontiguousarray(value).reshape(np.shape(value)) for name, value in arrays.items()}
    described = json.dumps({"schema": SCHEMA, **values}, sort_keys=True)
    write_atomically(path, save(owned, {KEY: described}))


def load_checkpoint(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and values. CheckpointError: a damaged or foreign file, another schema, missing statistics."""
    try:
        with safe_open(str(path), framework="numpy") as file:
            described = (file.metadata() or {}).get(KEY)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path}: {error}") from error
    if described is None:
        raise CheckpointError(f"{path}: no {KEY!r} metadata: not a checkpoint of a run")
    values = json.loads(described)
    if values["schema"] != SCHEMA:
        raise CheckpointError(f"{path}: schema {values['schema']}, this version reads {SCHEMA}")
    missing = [name for name in STATISTICS if name not in arrays]
    if missing:
        raise CheckpointError(f"{path}: without the statistics {', '.join(missing)} the weights mean nothing")
    return arrays, values
