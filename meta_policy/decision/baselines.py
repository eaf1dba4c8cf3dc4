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


class QuantileThreshold:
    """The (1 - share) quantile of the last `window` signals: a threshold in no unit, which follows any
    rescaling within one window. Nothing exceeds it before `warm_up` signals have been seen.

    Equal signals, such as those of a saturated input, are told apart by chance, lest none of them exceeds the
    others.
    """

    def __init__(self, share: float, window: int = 1000, warm_up: int = 100, seed: int = 0) -> None:
        if not 0.0 < share < 1.0:
            raise ValueError(f"a share lies inside (0, 1), got {share}")
        self.share, self.warm_up = share, warm_up
        self._signals = np.zeros(window)
        self._seen = 0
        self._rng = np.random.default_rng(seed)

    @property
    def value(self) -> float:
        if self._seen < self.warm_up:
            return float("inf")
        held = self._signals[: self._seen]
        rank = min(int((1.0 - self.share) * len(held)), len(held) - 1)
        return float(np.partition(held, rank)[rank])

    def exceeded(self, signal: Floats) -> Flags:
        """Which of `[n]` lie above the threshold as it was before they came; then remembers them."""
        told_apart = signal * (1.0 + 1e-9 * self._rng.random(len(signal)))
        above: Flags = told_apart > self.value
        at = (self._seen + np.arange(len(signal))) % len(self._signals)
        self._signals[at] = told_apart
        self._seen += len(signal)
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
