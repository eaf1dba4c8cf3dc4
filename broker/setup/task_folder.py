"""A task as the broker knows it: the exported folder that the configuration names (docs/task_folder.md).

The broker needs the schemas, the hard bounds, the safe action and the constraints' life time. What only
planners read of ``task.json`` is left alone here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from protos.types import BoxAction, TensorSpec

OBSERVATION = "observation"  # the name of a task's observation tensor in asks
Bounds = tuple[float, ...]


class TaskFolderError(ValueError):
    """The folder is not a task this version can read; the message names the file and every key at fault."""


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """Schemas, hard bounds and the declared safe action of one task. ``safe_action`` empty: none declared."""

    task: str
    observations: tuple[TensorSpec, ...]
    action: BoxAction
    period_us: int
    safe_action: Bounds = ()
    constraints_ttl_ms: int = 60_000
    max_steps: int = 0  # of an episode; 0: no limit
    model_path: Path | None = None  # MJCF


def load_task_folder(folder: Path) -> TaskFolder:
    """Read ``task.json``. Raises :class:`TaskFolderError`."""
    path = folder / "task.json"
    try:
        told = _Task.model_validate_json(path.read_bytes())
    except OSError as error:
        raise TaskFolderError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in error.errors())
        raise TaskFolderError(f"{path}: {faults}") from None
    seen = told.observation
    return TaskFolder(
        task=told.task_id,
        observations=(TensorSpec(OBSERVATION, np.dtype(seen.dtype), seen.shape),),
        action=BoxAction(told.action.shape, told.action.low, told.action.high, told.action.names),
        period_us=told.period_us,
        safe_action=told.action.safe,
        constraints_ttl_ms=round(told.constraints_ttl_s * 1000),
        max_steps=told.max_steps,
        model_path=folder / told.model if told.model else None,
    )


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)


class _Observation(_Part):
    dtype: Literal["float32", "float64"]
    shape: tuple[Annotated[int, Field(gt=0)], ...]


class _Action(_Part):
    shape: tuple[Annotated[int, Field(gt=0)]]
    low: Bounds
    high: Bounds
    names: tuple[str, ...] = ()
    safe: Bounds = ()

    @model_validator(mode="after")
    def _agree(self) -> _Action:
        size = self.shape[0]
        if len(self.low) != size or len(self.high) != size:
            raise ValueError(f"low and high need {size} numbers each")
        if any(low >= high for low, high in zip(self.low, self.high, strict=True)):
            raise ValueError("every low must be below its high")
        if len(self.names) not in (0, size):
            raise ValueError(f"names needs {size} entries")
        if self.safe and not self._within_bounds(self.safe):
            raise ValueError(f"safe needs {size} numbers within the bounds")
        return self

    def _within_bounds(self, action: Bounds) -> bool:
        limits = zip(self.low, action, self.high, strict=False)
        return len(action) == self.shape[0] and all(low <= x <= high for low, x, high in limits)


class _Task(_Part):
    format: Literal["guidance-task/1"]
    task_id: Annotated[str, Field(min_length=1)]
    period_us: Annotated[int, Field(gt=0)]
    observation: _Observation
    action: _Action
    model: str = ""
    max_steps: Annotated[int, Field(ge=0)] = 0
    constraints_ttl_s: Annotated[float, Field(gt=0)] = 60.0
