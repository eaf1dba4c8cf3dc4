"""From played episodes to the figures a claim rests on. Pure.

A score is the raw return less tau x waited seconds, so that waiting is charged in the blocking regime; in
realtime, where lateness already costs return, it is the return itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from meta_policy.cost import Costs
from meta_policy.evaluation.conditions import Condition
from meta_policy.evaluation.evaluation import Played
from meta_policy.evaluation.statistics import (
    NEVER,
    Floats,
    Interval,
    best_always,
    gain_interval,
    gain_recovered,
    nested_bootstrap,
    paired_difference,
    relative_difference,
)

SHARE_TOLERANCE = 0.05
RETURN_TOLERANCE = 0.10


@dataclass(frozen=True, slots=True)
class Line:
    """One method at one operating point under one condition. Shares are of all steps played; USD an
    episode."""

    method: str
    point: str
    head_seed: int
    episodes: int
    mean_return: float
    gain: Interval
    guided_share: float
    asked_share: float
    paid_share: float
    price_usd: float
    wait_s: float
    latency_cost: float
    switches_per_100: float
    p50_first_ms: float | None
    p95_first_ms: float | None
    missed_share: float
    void: bool  # too many missed ticks: no figure of this line counts


@dataclass(frozen=True, slots=True)
class Comparison:
    """`method` less `other` at the same point over the same episodes, in score."""

    method: str
    other: str
    point: str
    head_seed: int
    difference: Interval


@dataclass(frozen=True, slots=True)
class Table:
    """All figures of one condition. `reference` is the always-method that gain is measured by."""

    condition: Condition
    reference: str
    lines: tuple[Line, ...]
    comparisons: tuple[Comparison, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether the same method does the same on both transports: 90 % interval of the paired relative
    difference of returns within 10 %, guided share and spend within 5 % of the virtual clock's."""

    method: str
    point: str
    returns: Interval
    guided_ratio: float
    spend_ratio: float

    @property
    def holds(self) -> bool:
        shares = (self.guided_ratio, self.spend_ratio)
        return self.returns.inside(-RETURN_TOLERANCE, RETURN_TOLERANCE) and all(
            abs(ratio - 1) <= SHARE_TOLERANCE for ratio in shares
        )


def score(played: Played, costs: Costs) -> Floats:
    """[E]: return less the cost of waiting."""
    waited = np.array([episode.wait_ms for episode in played.episodes])
    return np.asarray(played.returns - costs.latency_cost(waited), np.float64)


def tabulate(results: Sequence[Played], costs: Costs) -> Table:
    """The table of one condition; `results` must hold never and at least one always_<provider>."""
    scores = {_key(played): score(played, costs) for played in results}
    single = {
        p.method: scores[_key(p)] for p in results if p.method == NEVER or p.method.startswith("always_")
    }
    reference = best_always(single)
    lines = tuple(_line(p, scores[_key(p)], single, reference, costs) for p in results)
    return Table(results[0].condition, reference, lines, tuple(_comparisons(results, scores)))


def agreement(live: Played, virtual: Played) -> Agreement:
    """The same arm over the same episode seeds on the two transports."""
    return Agreement(
        live.method,
        live.point,
        relative_difference(live.returns, virtual.returns),
        _ratio(live.share("guided"), virtual.share("guided")),
        _ratio(live.per_episode("price_usd"), virtual.per_episode("price_usd")),
    )


def pooled(pairs: Sequence[tuple[Played, Played]]) -> list[Agreement]:
    """Every method over the episodes of all conditions that (live, virtual) `pairs` come from: single
    conditions of chaotic bodies take many more episodes to tell a tenth of the return from chance."""
    groups: dict[tuple[str, str], list[tuple[Played, Played]]] = {}
    for live, virtual in pairs:
        groups.setdefault((live.method, live.point), []).append((live, virtual))
    return [
        agreement(_joined([live for live, _ in group]), _joined([virtual for _, virtual in group]))
        for group in groups.values()
        if len(group) > 1
    ]


def _joined(parts: Sequence[Played]) -> Played:
    return replace(parts[0], episodes=[episode for part in parts for episode in part.episodes])


def over_runs(conditions: Mapping[int, Sequence[Played]], costs: Costs, method: str, point: str) -> Interval:
    """IQM of gain recovered over executor seeds and head seeds, by nested bootstrap. Keys: executor seeds."""
    executors = []
    for results in conditions.values():
        single = {
            p.method: score(p, costs) for p in results if p.method == NEVER or p.method.startswith("always_")
        }
        heads = [p for p in results if (p.method, p.point) == (method, point)]
        executors.append([single | {method: score(p, costs)} for p in heads])
    return nested_bootstrap(partial(gain_recovered, method=method), executors)


def _line(played: Played, scored: Floats, single: Mapping[str, Floats], reference: str, costs: Costs) -> Line:
    gain = gain_interval(scored, single[NEVER], single[reference])
    first, wait_ms = played.first_ms, played.per_episode("wait_ms")
    p50, p95 = np.quantile(first, (0.5, 0.95)).tolist() if first else (None, None)
    return Line(
        method=played.method,
        point=played.point,
        head_seed=played.head_seed,
        episodes=len(played.episodes),
        mean_return=float(played.returns.mean()),
        gain=gain,
        guided_share=played.share("guided"),
        asked_share=played.share("asked"),
        paid_share=played.share("paid"),
        price_usd=played.per_episode("price_usd"),
        wait_s=wait_ms / 1000,
        latency_cost=float(costs.latency_cost(np.array(wait_ms))),
        switches_per_100=100 * played.share("switches"),
        p50_first_ms=p50,
        p95_first_ms=p95,
        missed_share=played.missed_share,
        void=played.void,
    )


def _comparisons(
    results: Sequence[Played], scores: Mapping[tuple[str, str, int], Floats]
) -> list[Comparison]:
    """Every head against what was matched to it at the same point, and against never."""
    found = []
    for head in (p for p in results if p.method == "head"):
        for other in results:
            matched = other.point == head.point and other.head_seed in (-1, head.head_seed)
            if other.method != "head" and (matched or other.method == NEVER):
                difference = paired_difference(scores[_key(head)], scores[_key(other)])
                found.append(Comparison("head", other.method, head.point, head.head_seed, difference))
    return found


def _key(played: Played) -> tuple[str, str, int]:
    return played.method, played.point, played.head_seed


def _ratio(a: float, b: float) -> float:
    return a / b if b else (1.0 if a == 0 else float("inf"))
