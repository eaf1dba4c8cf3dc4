"""What a source is made from, and what a kind of source is. The registry lists one :class:`Kind` a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from broker.clock import Clock
from broker.providers.interface import Provider
from broker.task_folder import TaskFolder
from protos.types import Price


class SetupError(ValueError):
    """A source cannot be made as configured. ``key`` is the setting at fault, ``message`` names the fix."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key = key
        self.message = message


class Settings(BaseModel):
    """A kind's own settings: strict, closed and frozen, as the whole configuration is."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class Making:
    """What the configuration says of every source, whatever its kind.

    ``tasks`` are the folders of the tasks it serves, ``sources`` those made before it (a simulated one wraps
    one of them), ``directory`` is where relative paths start.
    """

    provider_id: str
    clock: Clock
    price: Price = field(default_factory=Price)
    timeout_ms: int = 5000
    max_concurrency: int = 0
    tasks: Mapping[str, TaskFolder] = field(default_factory=dict)
    sources: Mapping[str, Provider] = field(default_factory=dict)
    directory: Path = Path()


@dataclass(frozen=True, slots=True)
class Kind:
    """``make`` raises :class:`SetupError`; it may read files but opens no connection and starts no thread."""

    settings: type[Settings]
    make: Callable[[Any, Making], Provider]
    in_process: bool  # answers without leaving the process: by default neither cached nor coalesced
