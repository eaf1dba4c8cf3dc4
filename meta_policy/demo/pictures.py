"""Pictures of a report as inline SVG. Colours are CSS variables of the page, so they follow light and
dark."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, FAINT, PAPER = "#010101", "#020202", "#030303"
PALETTE = {
    "head": "#040401",
    "random": "#040402",
    "always": "#040403",
    "never": "#040404",
    "rule": "#040405",
    "medium": "#040406",
    "strong": "#040407",
}
"""Placeholders that no picture would use: each becomes `var(--name)`."""

_VARIABLES = {INK: "ink", FAINT: "faint", PAPER: "paper"} | {hexed: name for name, hexed in PALETTE.items()}
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "guidance",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.alpha": 0.35,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}


@dataclass(frozen=True, slots=True)
class Point:
    """One method at one operating point: share of steps guided (0 ... 1) and mean return."""

    method: str
    label: str
    guided_share: float
    mean_return: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """One episode, a value a step: `spread` of the value ensemble, `origin` of the executed action and
    `asked`, both as an index into `providers`, -1 for none."""

    providers: tuple[str, ...]
    spread: tuple[float, ...]
    origin: tuple[int, ...]
    asked: tuple[int, ...]
    period_ms: float


def frontier(committed: Sequence[Point], live: Sequence[Point]) -> str:
    """Return over share guided: the committed results as lines and rings, this run's points filled."""
    with rc_context(_STYLE):
        figure = Figure(figsize=(8.0, 4.4))
        axes = figure.subplots()
        for family in ("random", "head"):
            points = sorted((p for p in committed if p.method == family), key=lambda p: p.guided_share)
            if points:
                x, y = [100 * p.guided_share for p in points], [p.mean_return for p in points]
                axes.plot(x, y, "-o", color=colour(family), mfc="none", ms=5, lw=1.4, alpha=0.85)
        for point in committed:
            if point.method not in ("random", "head"):
                axes.plot(
                    100 * point.guided_share,
                    point.mean_return,
                    "o",
                    color=colour(point.method),
                    mfc="none",
                    ms=6,
                )
        for point in live:
            x, y = 100 * point.guided_share, point.mean_return
            axes.plot(x, y, "o", color=colour(point.method), mec=PAPER, mew=1.5, ms=12, zorder=5)
        _label(axes, live, committed)
        axes.set_xlabel("steps guided, %")
        axes.set_ylabel("mean return")
        axes.set_xlim(-4, 112)
        axes.margins(y=0.15)
        return _svg(figure)


def timeline(told: Timeline) -> str:
    """Above: the ensemble's spread and the asks; below: who decided each step's action."""
    seconds = np.arange(len(told.spread)) * told.period_ms / 1000
    with rc_context(_STYLE):
        figure = Figure(figsize=(8.0, 3.6))
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1), gridspec_kw={"hspace": 0.12})
        spread = np.asarray(told.spread)
        above.plot(seconds, spread, color=INK, lw=0.8)
        asked = np.asarray(told.asked)
        for index, name in enumerate(told.providers):
            at = np.flatnonzero(asked == index)
            if at.size:
                above.plot(
                    seconds[at],
                    spread[at],
                    "o",
                    color=colour(name),
                    mec=PAPER,
                    mew=0.5,
                    ms=4.5,
                    label=f"asks {name}",
                )
        above.set_ylabel("spread of the\nvalue ensemble")
        if above.get_legend_handles_labels()[0]:
            above.legend(ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), handletextpad=0.2)
        _strip(below, told, seconds)
        below.set_xlabel("time, s")
        return _svg(figure)


def _strip(axes: Axes, told: Timeline, seconds: np.ndarray) -> None:
    width = told.period_ms / 1000
    origin = np.asarray(told.origin)
    for index, name in enumerate(("own", *told.providers), start=-1):
        starts = np.flatnonzero(np.diff(np.concatenate([[False], origin == index, [False]]).astype(int)) == 1)
        ends = np.flatnonzero(np.diff(np.concatenate([[False], origin == index, [False]]).astype(int)) == -1)
        bars = [(seconds[a], (b - a) * width) for a, b in zip(starts, ends, strict=True)]
        axes.broken_barh(bars, (0, 1), facecolors=FAINT if index < 0 else colour(name), linewidth=0)
    axes.set_yticks([])
    axes.set_ylabel("acts", rotation=0, ha="right", va="center")
    axes.grid(False)
    axes.spines["left"].set_visible(False)


def _label(axes: Axes, live: Sequence[Point], committed: Sequence[Point]) -> None:
    named = {p.label for p in live}
    for point in [*live, *(p for p in committed if p.method.startswith(("never", "always")))]:
        if point in live or point.label not in named:
            where = (100 * point.guided_share, point.mean_return)
            axes.annotate(
                point.label,
                where,
                xytext=(9, 7),
                textcoords="offset points",
                color=colour(point.method),
                weight="bold" if point in live else "normal",
            )


def colour(name: str) -> str:
    """A placeholder by method or provider; `always_strong` is an always."""
    return PALETTE.get(name) or PALETTE.get(name.split("_")[0], INK)


def _svg(figure: Figure) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    return themed(out.getvalue(), _VARIABLES)


def themed(svg: str, variables: Mapping[str, str]) -> str:
    """The `<svg>` element alone, its placeholders replaced, its size left to the page."""
    svg = svg[svg.index("<svg") :]
    for hexed, name in variables.items():
        svg = svg.replace(hexed, f"var(--{name})")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font: [^;\"]*?(\d+(?:\.\d+)?)px[^;\"]*", r"font-size: \1px", svg)
    return re.sub(
        r'(<svg[^>]*?) width="[^"]*"',
        r"\1",
        re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1),
        count=1,
    )
