"""Methods without learning that play the same game: never, always, random, periodic, value spread."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from meta_policy.moves import ALONE
from meta_policy.view import Counts, Flags, Floats, LaneView


def where_legal(wanted: Flags, move: int, legal: Flags) -> Counts:
    """`move` for the True rows where it is legal, else ALONE: `[B]`."""
    return np.where(wanted & legal[:, move], move, ALONE)


@dataclass(frozen=True, slots=True)
class Never:
    """The executor alone."""

    def decide(self, view: LaneView, legal: Flags) -> Counts:
        return np.full(len(view.step), ALONE)


@dataclass(frozen=True, slots=True)
class Always:
    """Asks again, by the same `move`, whenever nothing is running."""

    move: int

    def decide(self, view: LaneView, legal: Flags) -> Counts:
        return where_legal(view.active, self.move, legal)


@dataclass(frozen=True, slots=True)
class Random:
    """Asks with probability `chance` at each decision; `share_to_chance` gives the one for a guided share."""

    move: int
    chance: float

    def decide(self, view: LaneView, legal: Flags) -> Counts:
        return where_legal(view.rng.random(len(view.step)) < self.chance, self.move, legal)


def share_to_chance(share: float, hold: int) -> float:
    """The chance per decision that guides `share` of the steps with leases of `hold` steps.

    A lease is followed by a wait of mean 1/p - 1 steps, so share = hold / (hold + 1/p - 1).

    >>> round(share_to_chance(0.5, hold=5), 4)
    0.1667
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"a share lies in [0, 1], got {share}")
    return 1.0 if share == 1.0 else share / (hold * (1.0 - share) + share)


@dataclass(frozen=True, slots=True)
class Periodic:
    """Asks at steps 0, n, 2n, ... of each episode; n may be a fraction, rounded step by step."""

    move: int
    every: float

    def decide(self, view: LaneView, legal: Flags) -> Counts:
        due = np.floor(view.step / self.every) != np.floor((view.step - 1) / self.every)
        return where_legal(due, self.move, legal)


@dataclass(slots=True)
class QuantileThreshold:
    """A threshold that tracks the (1 - share) quantile of what it is shown, whatever its units.

    After every signal x: log-free stochastic approximation in units of the signal's own running scale,
    q += rate * scale * (1[x > q] - share). Held at infinity until `warm_up` signals set the first quantile.
    """

    share: float
    rate: float = 0.02
    warm_up: int = 100
    value: float = np.inf
    scale: float = 0.0
    _first: list[float] = field(default_factory=list)

    def exceeded(self, signal: Floats) -> Flags:
        """Which of `[n]` lie above the threshold as it was before they came; then learns from them."""
        above = signal > self.value
        if np.isinf(self.value):
            self._first += signal.tolist()
            if len(self._first) >= self.warm_up:
                self.value = float(np.quantile(self._first, 1.0 - self.share))
                self.scale = float(np.mean(np.abs(np.asarray(self._first) - np.median(self._first))))
            return above
        n = len(signal)
        if n:
            self.scale += 0.01 * (float(np.mean(np.abs(signal - self.value))) - self.scale)
            self.value += self.rate * self.scale * (float(above.sum()) - self.share * n)
        return above


@dataclass(slots=True)
class ValueSpread:
    """Asks where the critics disagree most (after RCMP): above a threshold that tracks its own quantile, so
    that the share of decisions with an ask stays at `share` whatever the scale of observations or critics."""

    move: int
    share: float
    threshold: QuantileThreshold = field(init=False)

    def __post_init__(self) -> None:
        self.threshold = QuantileThreshold(self.share)

    def decide(self, view: LaneView, legal: Flags) -> Counts:
        free = view.active & legal[:, self.move]
        wanted = np.zeros(len(free), np.bool_)
        wanted[free] = self.threshold.exceeded(view.value_spread[free])
        return where_legal(wanted, self.move, legal)
