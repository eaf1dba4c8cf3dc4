"""The same figures for people: Markdown, unfavourable lines included."""

from __future__ import annotations

from collections.abc import Sequence

from meta_policy.evaluation.statistics import Interval
from meta_policy.evaluation.summary import Agreement, Comparison, Line, Table

HEAD = (
    "| method | point | return | gain recovered | guided | asked | paid | USD / episode | switches / 100 "
    "| first guidance p50 / p95 ms | missed ticks |"
)
BLOCKING_HEAD = HEAD + " waited s / episode | latency cost |"


def markdown(table: Table) -> str:
    """One condition's heading, table and comparisons."""
    where = table.condition
    head = HEAD if where.regime == "realtime" else BLOCKING_HEAD
    rule = "|" + "---|" * (head.count("|") - 1)
    lines = [line_of(line, blocking=where.regime == "blocking") for line in table.lines]
    scale = "" if where.period_scale == 1 else f", control period x {where.period_scale:g}"
    title = f"### {where.task}, executor {where.executor_seed}, {where.clock}, {where.regime}{scale}"
    told = (
        f"{table.lines[0].episodes} paired episodes; mix {where.mix}; gain is relative to {table.reference}."
    )
    return "\n".join(
        [title, "", told, "", head, rule, *lines, "", *map(comparison_of, table.comparisons), ""]
    )


def line_of(line: Line, blocking: bool = False) -> str:
    first = "-" if line.p50_first_ms is None else f"{line.p50_first_ms:.1f} / {line.p95_first_ms:.1f}"
    cells = [
        line.method + (f" (head {line.head_seed})" if line.head_seed >= 0 else ""),
        line.point or "-",
        f"{line.mean_return:.0f}",
        percent(line.gain),
        f"{line.guided_share:.1%}",
        f"{line.asked_share:.1%}",
        f"{line.paid_share:.1%}",
        f"{line.price_usd:.4f}",
        f"{line.switches_per_100:.1f}",
        first,
        f"{line.missed_share:.2%}" + (" **void**" if line.void else ""),
    ]
    if blocking:
        cells += [f"{line.wait_s:.2f}", f"{line.latency_cost:.1f}"]
    return "| " + " | ".join(cells) + " |"


def comparison_of(comparison: Comparison) -> str:
    d = comparison.difference
    word = "excludes 0" if d.excludes_zero else "holds 0"
    return (
        f"- {comparison.method} less {comparison.other} at {comparison.point}: {d.value:+.0f}, "
        f"95 % interval {d.low:+.0f} to {d.high:+.0f} ({word})"
    )


def agreements(title: str, found: Sequence[Agreement]) -> str:
    """Live against virtual, one line a method."""
    lines = [
        f"| {a.method} {a.point} | {percent(a.returns)} | {a.guided_ratio:.3f} | {a.spend_ratio:.3f} | "
        f"{'yes' if a.holds else '**no**'} |"
        for a in found
    ]
    head = "| method | return, live less virtual (90 %) | guided, live / virtual | spend likewise | holds |"
    return "\n".join([f"### {title}", "", head, "|---|---|---|---|---|", *lines, ""])


def percent(interval: Interval) -> str:
    return f"{interval.value:.0%} ({interval.low:.0%} to {interval.high:.0%})"
