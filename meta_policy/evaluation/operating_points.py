"""Operating points, chosen on validation seeds on the virtual clock: the beta at which a head guides a wanted
share of steps, and the parameter at which every baseline guides as many."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from agents.files import write_atomically
from meta_policy.evaluation import arms
from meta_policy.evaluation.conditions import Arm
from meta_policy.evaluation.episodes import Episode
from meta_policy.evaluation.statistics import match_share
from meta_policy.presets import Preset

MAIN_SHARE = 0.19
"""The operating point that claims are made at: below a fifth of the steps, with room for chance."""

Measure = Callable[[Arm], list[Episode]]
"""Plays an arm over validation episodes."""


@dataclass(frozen=True, slots=True)
class Matched:
    """`parameter` is the share that a method is told, `guided_share` what it then guides."""

    parameter: float
    guided_share: float


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """`point` is the label of the wanted share; all shares were measured on validation seeds."""

    point: str
    executor_seed: int
    head_seed: int
    beta: float
    guided_share: float
    matched: Mapping[str, Matched] = field(hash=False)


def choose(
    preset: Preset,
    head: Path,
    executor_seed: int,
    head_seed: int,
    share: float,
    measure: Measure,
    baselines: bool = True,
) -> OperatingPoint:
    """Bisect log beta until the head guides `share` of validation steps, then each baseline to the same."""
    point = label(share)
    low, high = preset.betas

    def beta(x: float) -> float:
        return float(high * (low / high) ** x)  # the share rises as beta falls

    x, guided = match_share(
        lambda x: guided_share(measure(arms.head(head, beta(x), point, head_seed))), share, tolerance=0.005
    )
    names = arms.MATCHED if baselines else ()
    matched = {name: _match(preset, name, guided, measure) for name in names}
    return OperatingPoint(point, executor_seed, head_seed, beta(x), guided, matched)


def _match(preset: Preset, name: str, share: float, measure: Measure) -> Matched:
    found = match_share(
        lambda told: guided_share(measure(arms.matched(preset, name, told, ""))), share, share
    )
    return Matched(*found)


def guided_share(episodes: Sequence[Episode]) -> float:
    """Guided steps of all steps."""
    return sum(e.guided for e in episodes) / max(1, sum(e.steps for e in episodes))


def label(share: float) -> str:
    """
    >>> label(0.05)
    '5% guided'
    """
    return f"{np.round(100 * share, 1):g}% guided"


def save(path: Path, points: Iterable[OperatingPoint]) -> None:
    write_atomically(path, (json.dumps([asdict(point) for point in points], indent=1) + "\n").encode())


def load(path: Path, executor_seed: int) -> list[OperatingPoint]:
    """Those of one executor; none when the file is not there."""
    if not path.exists():
        return []
    points = [_read(told) for told in json.loads(path.read_text())]
    return [point for point in points if point.executor_seed == executor_seed]


def _read(told: dict[str, object]) -> OperatingPoint:
    matched = {name: Matched(**one) for name, one in told.pop("matched").items()}  # type: ignore[attr-defined]
    return OperatingPoint(**told, matched=matched)  # type: ignore[arg-type]


def main_point(points: Sequence[OperatingPoint]) -> OperatingPoint:
    """Of those that baselines are matched to, the one nearest `MAIN_SHARE`; ValueError when there is none."""
    matched = [point for point in points if point.matched]
    if not matched:
        raise ValueError("no operating points with matched baselines; choose them with guidance-meta points")
    return min(matched, key=lambda point: abs(point.guided_share - MAIN_SHARE))
