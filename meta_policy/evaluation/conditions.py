"""Under what a result was obtained, and which methods were compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from meta_policy.decider import Decider
from meta_policy.guide import Regime

Clock = Literal["live", "virtual"]


@dataclass(frozen=True, slots=True)
class Condition:
    """What all episodes of one comparison share."""

    task: str
    mix: str
    clock: Clock
    regime: Regime
    executor_seed: int
    period_scale: float = 1.0  # the control period is the task's times this
    delay_steps: int = 0
    degradation: str = "none"

    @property
    def name(self) -> str:
        """A file name."""
        scale = "" if self.period_scale == 1.0 else f"-period{self.period_scale:g}"
        return f"{self.clock}-{self.regime}-executor{self.executor_seed}{scale}"


@dataclass(frozen=True, slots=True)
class Arm:
    """One method at one operating point. `make` gives a fresh decider, so that no memory is carried over.

    `reads_doubt`: it goes by how much the executor's critics disagree, and is worth nothing once they cannot.
    """

    method: str
    point: str
    make: Callable[[], Decider]
    beta: float = 0.0
    head_seed: int = -1
    reads_doubt: bool = False

    @property
    def name(self) -> str:
        """A file name."""
        head = "" if self.head_seed < 0 else f"-head{self.head_seed}"
        point = f"-{self.point}" if self.point else ""
        return f"{self.method}{head}{point}".replace("=", "").replace("/", "_")
