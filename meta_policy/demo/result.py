"""What a demo came to: `result.json`, the table on the terminal and the report, all of the same numbers."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from agents.files import write_atomically
from meta_policy import machine, places
from meta_policy.demo.demo import Shown, Wanted
from meta_policy.demo.report import committed_points, percent, times, write_report
from meta_policy.evaluation.evaluation import Played
from meta_policy.evaluation.rows import read_rows
from meta_policy.evaluation.statistics import NEVER, gain

VOID = (
    "More than 1 % of the control ticks were missed in some methods, so their figures are void: "
    "the machine was too busy to hold the control rate."
)


def result_of(what: Wanted, shown: Shown) -> dict[str, Any]:
    """The content of `result.json`: what the table and the report say."""
    returns = {played.method: played for played in shown.played}
    busy = [VOID] if any(played.void for played in shown.played) else []
    return {
        "task": what.preset.task,
        "executor_seed": what.executor_seed,
        "head": what.head.name,
        "period_ms": what.setting.period_ms,
        "lanes": what.lanes,
        "episode_seeds": what.seeds,
        "complete": shown.complete,
        "seconds": round(shown.seconds, 1),
        "methods": [_method(played, returns) for played in shown.played],
        "agents": [asdict(agent) for agent in shown.agents],
        "providers": shown.providers,
        "broker": {"metrics_url": shown.metrics_url, "starts": shown.starts},
        "notes": shown.notes + busy,
        "machine": machine.in_words(),
    }


def _method(played: Played, all_played: dict[str, Played]) -> dict[str, Any]:
    p50, p95 = np.quantile(played.first_ms, (0.5, 0.95)).tolist() if played.first_ms else (None, None)
    return {
        "method": played.method,
        "label": played.method.replace("_", " "),
        "point": played.point,
        "episode_seeds": [episode.seed for episode in played.episodes],
        "returns": played.returns.tolist(),
        "mean_return": float(played.returns.mean()),
        "gain_recovered": _gain(played, all_played),
        "guided_share": played.share("guided"),
        "asked_share": played.share("asked"),
        "paid_share": played.share("paid"),
        "price_usd": played.per_episode("price_usd"),
        "p50_first_ms": p50,
        "p95_first_ms": p95,
        "missed_share": played.missed_share,
        "void": played.void,
    }


def _gain(played: Played, all_played: dict[str, Played]) -> float | None:
    """Over the episodes that never, always and this method have all ended; None where that says nothing."""
    always = next((name for name in all_played if name.startswith("always_")), None)
    if always is None or NEVER not in all_played:
        return None
    three = {"never": all_played[NEVER], "always": all_played[always], "method": played}
    by_seed = {name: {e.seed: e.total_return for e in p.episodes} for name, p in three.items()}
    common = sorted(set.intersection(*(set(returns) for returns in by_seed.values())))
    run = {name: [returns[seed] for seed in common] for name, returns in by_seed.items()}
    recovered = gain(run["method"], run["never"], run["always"]) if common else math.nan
    return recovered if math.isfinite(recovered) else None


def finish(what: Wanted, shown: Shown, folder: Path) -> None:
    """Write `result.json` and `report.html`, print the table. A second Ctrl-C does not spoil them."""
    with uninterrupted():
        result = result_of(what, shown)
        text = json.dumps(result, indent=1, allow_nan=False)
        write_atomically(folder / "result.json", f"{text}\n".encode())
        committed = read_rows(places.frontier()) if places.frontier().exists() else []
        points = committed_points(committed, what.preset.task, what.executor_seed)
        write_report(folder / "report.html", result, points, shown.timeline)
        print_table(result)
        print(f"numbers: {folder / 'result.json'}   report: {folder / 'report.html'}")
        print(f"the broker's metrics were at {shown.metrics_url or 'no address: it never came up'}")


def print_table(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    title = f"{result['task']}, {len(result['episode_seeds'])} paired episodes"
    table = Table(title=title if result["complete"] else f"{title} (partial)")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "method" else "right")
    for told in result["methods"]:
        table.add_row(
            told["label"],
            str(len(told["returns"])),
            f"{told['mean_return']:.0f}",
            percent(told["gain_recovered"]),
            percent(told["guided_share"], 1),
            f"{told['price_usd']:.4f}",
            times(told),
            percent(told["missed_share"], 2) + (" void" if told["void"] else ""),
        )
    console = Console()
    Console(width=max(console.width, 110)).print(table)


COLUMNS = (
    "method",
    "episodes",
    "return",
    "gain recovered",
    "guided",
    "USD / episode",
    "first guidance p50 / p95, ms",
    "missed ticks",
)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block has ended: it is short, and what it writes is all that is left of the
    run."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
