"""A whole comparison: every method, executor, regime and control rate asked for, and the files that tell of
it."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from agents.files import write_atomically
from agents.tasks import task_info
from meta_policy import machine, places, seeds
from meta_policy.evaluation import arms, operating_points, table
from meta_policy.evaluation.conditions import Arm
from meta_policy.evaluation.evaluation import Parts, Played, evaluate, rows_of
from meta_policy.evaluation.operating_points import OperatingPoint
from meta_policy.evaluation.rows import write_rows
from meta_policy.evaluation.summary import Agreement, Table, agreement, over_runs, pooled, tabulate
from meta_policy.guide import Regime
from meta_policy.live.stage import Setting, stage
from meta_policy.presets import Preset, costs_of
from meta_policy.virtual.stage import VirtualStage

BLOCKING_MS = 7.0
VIRTUAL_MS = 2.5
"""Rough cost of one step of twenty lanes where nothing paces it, for the estimate."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to compare. The first of `period_scales` is the one that claims are made at. The others are played
    by never and the head at the main point only, to hold live against virtual at other control rates."""

    preset: Preset
    live: bool
    executor_seeds: tuple[int, ...]
    regimes: tuple[Regime, ...] = ("realtime",)
    period_scales: tuple[float, ...] = (1.0,)
    episodes: int = 100
    lanes: int = 4
    all_baselines: bool = False

    def settings(self) -> list[Setting]:
        """One a condition."""
        return [
            Setting(self.preset, executor, self.lanes, regime, scale)
            for regime in self.regimes
            for scale in (self.period_scales if regime == "realtime" else self.period_scales[:1])
            for executor in self.executor_seeds
        ]


@dataclass(frozen=True, slots=True)
class Result:
    """One condition: its live results (empty where only the virtual clock was wanted) and their virtual
    twins."""

    setting: Setting
    live: list[Played]
    virtual: list[Played]

    @property
    def main(self) -> list[Played]:
        return self.live or self.virtual


def arms_of(wanted: Wanted, setting: Setting) -> list[Arm]:
    """never, always each, the heads at their points, baselines matched to them (at the main point, or at
    all)."""
    preset = wanted.preset
    heads = places.heads(preset, setting.executor_seed)
    points = operating_points.load(places.points(preset), setting.executor_seed)
    points = [point for point in points if point.head_seed in heads]
    main = {operating_points.main_point(of_head(points, seed)) for seed in heads} if points else set()
    if setting.period_scale != wanted.period_scales[0]:
        return [arms.never(), *(_head(heads, point) for point in points if point in main)]
    chosen = [arms.never(), *arms.always(preset)]
    for point in points:
        chosen.append(_head(heads, point))
        if wanted.all_baselines or point in main:
            chosen += [
                replace(arms.matched(preset, name, told.parameter, point.point), head_seed=point.head_seed)
                for name, told in point.matched.items()
            ]
    return chosen


def of_head(points: Sequence[OperatingPoint], head_seed: int) -> list[OperatingPoint]:
    return [point for point in points if point.head_seed == head_seed]


def _head(heads: dict[int, Path], point: OperatingPoint) -> Arm:
    return arms.head(heads[point.head_seed], point.beta, point.point, point.head_seed)


def estimated_s(wanted: Wanted) -> float:
    """An upper bound: every episode at its full length."""
    total = 0.0
    for setting in wanted.settings():
        waves = math.ceil(wanted.episodes / wanted.lanes)
        steps = waves * task_info(wanted.preset.task).max_steps * len(arms_of(wanted, setting))
        live_ms = setting.period_ms if setting.regime == "realtime" else BLOCKING_MS
        total += steps * (VIRTUAL_MS + (live_ms if wanted.live else 0.0)) / 1000
    return total


async def compare(wanted: Wanted, out: Path, say: Say) -> list[Result]:
    """Play all that is not in `out` yet. A line is said for every method that is done."""
    episodes = seeds.first(seeds.TEST, wanted.episodes)
    parts, results = Parts(out / "parts"), []
    for setting in wanted.settings():
        chosen, live = arms_of(wanted, setting), []
        if wanted.live:
            live = await _live(setting, chosen, episodes, parts, say)
        with closing(VirtualStage(setting)) as twin:
            virtual = await evaluate(twin.condition, chosen, episodes, twin.play, parts, say)
        results.append(Result(setting, live, virtual))
    return results


async def _live(
    setting: Setting, chosen: Sequence[Arm], episodes: Sequence[int], parts: Parts, say: Say
) -> list[Played]:
    """A broker is started only if something is left to play."""
    known = [parts.load(setting.condition, arm, episodes) for arm in chosen]
    if all(played is not None for played in known):
        return [played for played in known if played is not None]
    async with stage(setting) as live:
        return await evaluate(setting.condition, chosen, episodes, live.play, parts, say)


def write_all(wanted: Wanted, results: Sequence[Result], out: Path) -> None:
    """frontier.json, summary.json and table.md."""
    rows, tables, agreements = [], [], []
    for result in results:
        costs = costs_of(wanted.preset, result.setting.regime)
        for played in (*result.live, *result.virtual):
            rows += rows_of(played, costs)
        if result.setting.period_scale == wanted.period_scales[0]:
            tables.append(tabulate(result.main, costs))
        if result.live:
            agreements.append((result.setting.condition.name, agreements_of(result)))
    together = pooled(
        [pair for result in results if result.setting.regime == "realtime" for pair in paired(result)]
    )
    if together:
        agreements.append(("all control rates and executors together", together))
    write_rows(out / "frontier.json", rows)
    runs = _over_runs(wanted, results)
    summary = {
        "task": wanted.preset.task,
        "command": ["guidance-meta", *sys.argv[1:]],
        "episodes": wanted.episodes,
        "lanes": wanted.lanes,
        "tables": [told.to_json() for told in tables],
        "over_runs": runs,
        "live_equals_virtual": [
            {"condition": name, "methods": [asdict(one) | {"holds": one.holds} for one in found]}
            for name, found in agreements
        ],
        "machine": machine.describe(),
        "cpu_hours_of_this_call": machine.cpu_hours(),
    }
    text = json.dumps(_finite(summary), indent=1, allow_nan=False)
    write_atomically(out / "summary.json", f"{text}\n".encode())
    write_atomically(out / "table.md", _markdown(tables, agreements).encode())


def agreements_of(result: Result) -> list[Agreement]:
    """Every method live against its virtual twin, where nothing was missed."""
    return [agreement(live, virtual) for live, virtual in paired(result)]


def paired(result: Result) -> list[tuple[Played, Played]]:
    """(live, virtual) of every method that is not void for missed ticks; none without a broker."""
    if not result.live:
        return []
    return [(a, b) for a, b in zip(result.live, result.virtual, strict=True) if not a.void]


def _over_runs(wanted: Wanted, results: Sequence[Result]) -> list[dict[str, Any]]:
    """Gain recovered over executors and heads, for every point of the head, by regime."""
    told = []
    for regime in wanted.regimes:
        main = [r for r in results if r.setting.period_scale == wanted.period_scales[0]]
        ours = [r for r in main if r.setting.regime == regime]
        by_executor = {r.setting.executor_seed: r.main for r in ours}
        labels = dict.fromkeys(p.point for r in ours for p in r.main if p.method == "head")
        for point in labels:
            interval = over_runs(by_executor, costs_of(wanted.preset, regime), "head", point)
            told.append({"regime": regime, "method": "head", "point": point, "gain_iqm": asdict(interval)})
    return told


def _markdown(tables: Sequence[Table], agreements: Sequence[tuple[str, Sequence[Agreement]]]) -> str:
    sections = [table.markdown(told) for told in tables]
    sections += [table.agreements(f"Live against virtual: {name}", found) for name, found in agreements]
    return "\n".join(sections)


def _finite(value: Any) -> Any:
    """JSON has no NaN: what cannot be computed is null."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
