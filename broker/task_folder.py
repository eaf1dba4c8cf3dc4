"""A task as the broker knows it: the exported folder that the configuration names (docs/task_folder.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from protos.types import ActionSpec, TensorSpec


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """Schemas, hard bounds and the declared safe action of one task. ``safe_action`` empty: none declared."""

    task: str
    observations: tuple[TensorSpec, ...]
    action: ActionSpec
    period_us: int
    safe_action: tuple[float, ...] = ()
    constraints_ttl_ms: int = 60_000
    model_path: Path | None = None
