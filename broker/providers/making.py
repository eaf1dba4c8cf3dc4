"""What a source is made from, and what a kind of source is. The registry lists one :class:`Kind` a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from broker.clock import Clock
from broker.config import ProviderSettings
from broker.providers.interface import Provider
from broker.setup.task_folder import TaskFolder


class SetupError(ValueError):
    """A source cannot be made as configured. ``key`` is the setting at fault, ``message`` names the fix."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key = key
        self.message = message


@dataclass(frozen=True, slots=True)
class Making:
    """What a source is made from beside its own settings.

    ``tasks`` are the folders of the tasks it serves, by task name; ``sources`` those made before it, by id (a
    simulated one wraps one of them: see ``ProviderSettings.references``).
    """

    clock: Clock
    tasks: Mapping[str, TaskFolder] = field(default_factory=dict)
    sources: Mapping[str, Provider] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kind:
    """``make(settings, making)`` raises :class:`SetupError`; it opens no connection and starts no thread."""

    settings: type[ProviderSettings]
    make: Callable[[Any, Making], Provider]
