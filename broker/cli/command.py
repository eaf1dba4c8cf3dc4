"""What a command is to ``guidance-broker``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """``run`` returns the process's exit status: 0, or 1 when there is something to put right."""

    name: str
    says: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]
