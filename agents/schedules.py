"""Values that change with training progress: functions of the step, with nothing to restore on resume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Schedule(Protocol):
    """A value for every environment step >= 0."""

    def at(self, step: int) -> float: ...


@dataclass(frozen=True, slots=True)
class Constant:
    """The same value for ever."""

    value: float

    def at(self, step: int) -> float:
        return self.value


@dataclass(frozen=True, slots=True)
class Linear:
    """From `start` at step 0 to `end` at `over_steps`, and exactly `end` from there on."""

    start: float
    end: float
    over_steps: int

    def __post_init__(self) -> None:
        if self.over_steps < 1:
            raise ValueError(f"a linear schedule needs over_steps >= 1, got {self.over_steps}")

    def at(self, step: int) -> float:
        if step >= self.over_steps:
            return self.end
        return self.start + (self.end - self.start) * (max(step, 0) / self.over_steps)


@dataclass(frozen=True, slots=True)
class Exponential:
    """start * decay ** (step / every_steps)."""

    start: float
    decay: float
    every_steps: int

    def __post_init__(self) -> None:
        if self.every_steps < 1 or not 0.0 < self.decay <= 1.0:
            raise ValueError(f"an exponential schedule needs every_steps >= 1 and 0 < decay <= 1, got {self}")

    def at(self, step: int) -> float:
        return float(self.start * self.decay ** (max(step, 0) / self.every_steps))
