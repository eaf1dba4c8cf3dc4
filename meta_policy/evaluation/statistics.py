"""Figures over paired episodes: gain recovered, interquartile mean, and bootstrap intervals.

Every function is pure. Returns are raw environment returns `[E]`; entry e of every method is the same episode
seed, so differences are paired and one resampling of episodes serves all methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Run = Mapping[str, ArrayLike]
"""One run (an executor seed and a head seed): returns `[E]` by method."""

RESAMPLES = 10_000
NEVER = "never"


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its percentile bootstrap interval; NaN where there is nothing to divide by."""

    value: float
    low: float
    high: float
    level: float = 0.95

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0

    def inside(self, low: float, high: float) -> bool:
        return low <= self.low and self.high <= high


def interquartile_mean(values: ArrayLike) -> float:
    """The mean of the middle half: floor(n/4) values are left out at each end (Agarwal et al. 2021, rliable).

    >>> interquartile_mean([0.0, 1.0, 2.0, 100.0])
    1.5
    """
    ordered = np.sort(np.asarray(values, np.float64))
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def best_always(run: Run) -> str:
    """The method `always_...` with the highest mean return. ValueError when there is none."""
    candidates = [method for method in run if method.startswith("always_")]
    if not candidates:
        raise ValueError("gain recovered needs at least one method named always_<provider>")
    return max(candidates, key=lambda method: float(np.mean(np.asarray(run[method]))))


def gain_recovered(run: Run, method: str) -> float:
    """(mean return - never's) / (best single always - never's): a ratio of means, not clipped above 1.

    >>> gain_recovered({"never": [0, 2], "always_a": [5, 5], "always_b": [3, 3], "head": [4, 4]}, "head")
    0.75
    """
    return gain(run[method], run[NEVER], run[best_always(run)])


def gain(returns: ArrayLike, never: ArrayLike, always: ArrayLike) -> float:
    """As `gain_recovered`, the reference given; NaN where it gains nothing."""
    floor = float(np.mean(np.asarray(never)))
    most = float(np.mean(np.asarray(always))) - floor
    return (float(np.mean(np.asarray(returns))) - floor) / most if most else float("nan")


def gain_interval(
    returns: ArrayLike,
    never: ArrayLike,
    always: ArrayLike,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Bootstrap over episodes, the same ones for all three. The reference is not chosen anew in a resample.

    ValueError when they have different numbers of episodes.
    """
    columns = _columns({"method": returns, "never": never, "always": always})
    picks = _picks(len(columns["never"]), resamples, seed)
    means = {name: column[picks].mean(axis=1) for name, column in columns.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        figures = (means["method"] - means["never"]) / (means["always"] - means["never"])
    return _interval(gain(returns, never, always), figures, level)


def paired_difference(
    a: ArrayLike, b: ArrayLike, *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Mean of a - b over paired episodes, with its bootstrap interval."""
    difference = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    picks = _picks(len(difference), resamples, seed)
    return _interval(float(difference.mean()), difference[picks].mean(axis=1), level)


def relative_difference(
    a: ArrayLike, b: ArrayLike, *, level: float = 0.90, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """mean(a - b) / mean(b) over paired episodes: how far a transport changes a result, as a share of b."""
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    picks = _picks(len(first), resamples, seed)
    means = second[picks].mean(axis=1)
    figures = (first[picks].mean(axis=1) - means) / means
    return _interval(float((first.mean() - second.mean()) / second.mean()), figures, level)


def nested_bootstrap(
    statistic: Callable[[Run], float],
    executors: Sequence[Sequence[Run]],
    *,
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Interval:
    """IQM over runs of `statistic`, resampling executors, heads within each, and episodes within each run.

    `executors[x][h]` is the run of head h on executor x. Each level is drawn with replacement, so the
    interval holds what would change with other training seeds too.
    """
    data = [[_columns(run) for run in heads] for heads in executors]
    rng = np.random.default_rng(seed)
    point = interquartile_mean([statistic(run) for heads in data for run in heads])
    return _interval(point, [_nested_draw(statistic, data, rng) for _ in range(resamples)], level)


def _nested_draw(
    statistic: Callable[[Run], float],
    data: Sequence[Sequence[Mapping[str, Floats]]],
    rng: np.random.Generator,
) -> float:
    figures = []
    for x in rng.integers(len(data), size=len(data)):
        heads = data[x]
        figures += [statistic(_resampled(heads[h], rng)) for h in rng.integers(len(heads), size=len(heads))]
    return interquartile_mean(figures)


def _picks(episodes: int, resamples: int, seed: int) -> NDArray[np.int64]:
    """Episodes of every resample, `[R, E]`."""
    return np.random.default_rng(seed).integers(episodes, size=(resamples, episodes))


def _columns(run: Run) -> dict[str, Floats]:
    columns = {method: np.asarray(returns, np.float64) for method, returns in run.items()}
    if len({column.shape for column in columns.values()}) > 1:
        lengths = {method: len(column) for method, column in columns.items()}
        raise ValueError(f"paired figures need the same episodes for every method, got {lengths}")
    return columns


def _resampled(columns: Mapping[str, Floats], rng: np.random.Generator) -> dict[str, Floats]:
    episodes = len(next(iter(columns.values())))
    picks = rng.integers(episodes, size=episodes)
    return {method: column[picks] for method, column in columns.items()}


def _interval(value: float, figures: ArrayLike, level: float) -> Interval:
    tail = (1 - level) / 2
    low, high = np.quantile(np.asarray(figures, np.float64), [tail, 1 - tail])
    return Interval(value, float(low), float(high), level)


def match_share(
    measure: Callable[[float], float],
    target: float,
    first: float = 0.5,
    *,
    tolerance: float = 0.01,
    tries: int = 8,
) -> tuple[float, float]:
    """The x in [0, 1] at which `measure(x)`, rising in x from about 0, is within `tolerance` of `target`.

    Bisection that begins at `first` and cuts where a straight line through the ends of the bracket would,
    since a measurement is dear. Returns (x, measured); the nearest try where none comes within, for
    `measure` may be noisy or never reach that far.
    """
    low, at_low, high, at_high = 0.0, 0.0, 1.0, float("nan")
    x, best = first, (0.0, 0.0)
    for _ in range(tries):
        measured = measure(x)
        if abs(measured - target) < abs(best[1] - target):
            best = (x, measured)
        if abs(measured - target) <= tolerance:
            break
        if measured < target:
            low, at_low = x, measured
        else:
            high, at_high = x, measured
        x = _cut(low, at_low, high, at_high, target)
    return best


def _cut(low: float, at_low: float, high: float, at_high: float, target: float) -> float:
    """Where the line reaches the target, kept off the ends; the middle while one end was never measured."""
    share = (target - at_low) / (at_high - at_low) if at_high > at_low else 0.5
    return low + min(max(share, 0.1), 0.9) * (high - low)
