"""The demo's page: one file with everything in it, the same numbers as `result.json`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from agents.files import write_atomically
from meta_policy.demo.pictures import Point, Timeline, frontier, timeline
from meta_policy.evaluation.rows import Row


def write_report(
    path: Path, result: Mapping[str, Any], committed: Sequence[Point], episode: Timeline | None
) -> None:
    """Write the page. `result` is the content of `result.json`; `committed` the points to compare with."""
    write_atomically(path, render(result, committed, episode).encode())


def render(result: Mapping[str, Any], committed: Sequence[Point], episode: Timeline | None) -> str:
    pages = Environment(
        loader=PackageLoader("meta_policy.demo", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    methods = {told["method"]: told for told in result["methods"]}
    return pages.get_template("report.html").render(
        result=result,
        agents=len(result["agents"]) or result["lanes"],
        head=methods.get("head"),
        never=methods.get("never"),
        always=next((told for name, told in methods.items() if name.startswith("always_")), None),
        committed=committed,
        frontier=Markup(frontier(committed, live_points(result))),
        timeline=Markup(timeline(episode)) if episode else None,
        percent=percent,
        times=times,
    )


def live_points(result: Mapping[str, Any]) -> list[Point]:
    return [
        Point(told["method"], told["label"], told["guided_share"], told["mean_return"])
        for told in result["methods"]
    ]


def committed_points(rows: Iterable[Row], task: str, executor_seed: int) -> list[Point]:
    """One point a method and operating point of the committed live realtime results of this executor, at the
    control rate that most of them were played at."""
    ours = [
        row
        for row in rows
        if (row.task, row.executor_seed) == (task, executor_seed)
        and (row.clock, row.regime, row.degradation) == ("live", "realtime", "none")
    ]
    periods = Counter(row.period_ms for row in ours)
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in ours:
        if row.period_ms == max(periods, key=periods.__getitem__):
            groups[row.method, row.point].append(row)
    return [
        Point(
            method,
            method.replace("_", " "),
            float(np.mean([row.guided_share for row in group])),
            float(np.mean([row.episode_return for row in group])),
        )
        for (method, _), group in groups.items()
    ]


def percent(share: float | None, digits: int = 0) -> str:
    """`12 %`; a dash for None."""
    return "-" if share is None else f"{100 * share:.{digits}f} %"


def times(told: Mapping[str, Any]) -> str:
    if told["p50_first_ms"] is None:
        return "-"
    return f"{told['p50_first_ms']:.1f} / {told['p95_first_ms']:.1f}"
