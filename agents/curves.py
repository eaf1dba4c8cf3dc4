"""Learning curves as CSV and as a picture."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.logs import read_rows

TRAINING, VALIDATION, CHOSEN = "#9aa5b1", "#1f6feb", "#d1242f"


def training_curve(run: Path) -> list[tuple[int, float]]:
    """(steps, mean return of the last 100 training episodes) of every batch that has one."""
    rows = read_rows(run / "progress.jsonl")
    return [(int(r["steps"]), r["ep_return_mean"]) for r in rows if r["ep_return_mean"] is not None]


def write_selection_curve(run: Path, report: Mapping[str, Any], stem: Path) -> None:
    """`stem`.csv and `stem`.png: training return, validation return of every checkpoint, the three chosen."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    during = dict(training_curve(run))
    names = {described["steps"]: name for name, described in report["executors"].items()}
    with stem.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["steps", "training_return", "validation_return", "standard_error", "executor"])
        for row in report["checkpoints"]:
            figures = (during.get(row["steps"], ""), row["mean"], row["standard_error"])
            shown = [figure if figure == "" else f"{figure:.2f}" for figure in figures]
            writer.writerow([row["steps"], *shown, names.get(row["steps"], "")])
    _draw_selection(training_curve(run), report, stem.with_suffix(".png"))


def _draw_selection(during: Sequence[tuple[int, float]], report: Mapping[str, Any], path: Path) -> None:
    figure, axes = _axes(f"{report['task']}, seed {report['training_seed']}")
    axes.plot(*zip(*during, strict=True), color=TRAINING, lw=1.2, label="training, sampled actions")
    rows = report["checkpoints"]
    steps, means = [r["steps"] for r in rows], [r["mean"] for r in rows]
    errors = [r["standard_error"] for r in rows]
    label = f"checkpoint, {report['validation']['episodes']} episodes ± standard error"
    axes.errorbar(steps, means, errors, color=VALIDATION, marker="o", ms=3, lw=1, label=label)
    for name, described in report["executors"].items():
        at = (described["steps"], described["validation_mean"])
        axes.plot(*at, "o", ms=9, mfc="none", color=CHOSEN)
        axes.annotate(name, at, xytext=(0, 9), textcoords="offset points", ha="center", color=CHOSEN)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=110)


def draw_runs(task: str, runs: Sequence[Path], target: float | None, path: Path) -> None:
    """Training return of every run of one task, and the figure to reach as a dashed line."""
    figure, axes = _axes(task)
    for run in sorted(runs):
        axes.plot(*zip(*training_curve(run), strict=True), lw=1.1, label=run.name)
    if target is not None:
        axes.axhline(target, color=CHOSEN, ls="--", lw=1, label=f"to reach: {target:.0f}")
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=110)


def _axes(title: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # a Figure of its own: no pyplot, no display, no global state

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left")
    axes.set_xlabel("environment steps")
    axes.set_ylabel("return")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    return figure, axes
