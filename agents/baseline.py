"""Plain PPO beside a published figure: seeds, budget and shortfall in one table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from agents.curves import draw_runs
from agents.environments import make
from agents.evaluate import evaluate
from agents.experiment import EVALUATION_SEED, RunError, read_config, versions
from agents.files import write_atomically
from agents.logs import read_rows
from agents.policy_file import Policy
from agents.tasks import Task


@dataclass(frozen=True, slots=True)
class Published:
    """Somebody else's figure and what it was measured on."""

    mean: float
    spread: float
    source: str


CLEANRL = "CleanRL ppo_continuous_action, v4 environments, 1M steps, 3 seeds, return of training episodes"
PUBLISHED: Mapping[str, Published] = MappingProxyType(
    {
        "Hopper-v5": Published(2383.0, 272.0, CLEANRL),
        "HalfCheetah-v5": Published(1443.0, 46.0, CLEANRL),
        "Walker2d-v5": Published(2288.0, 572.0, CLEANRL),
    }
)
SEEDS = 3  # finished ones, before anything is claimed
SHARE = 0.85  # of the published mean that our mean over seeds is to reach

Say = Callable[[str], None]


def report_runs(
    runs: Sequence[Path], out: Path, episodes: int, command: Sequence[str], say: Say, partial: bool = False
) -> None:
    """Evaluate the final policy of every run; `out` gets a JSON and a picture a task, and one table.

    An unfinished run is a RunError unless `partial`, which takes its latest policy and says so in its row.
    """
    by_task: dict[str, list[Path]] = {}
    for run in runs:
        by_task.setdefault(read_config(run).task, []).append(run)
    reports = []
    for task, folders in sorted(by_task.items()):
        rows = [_row(folder, episodes, say, partial) for folder in folders]
        report = describe(task, sorted(rows, key=lambda r: r["seed"]), episodes, command)
        name = task.rpartition("/")[2].rpartition("-")[0].lower()
        write_atomically(out / f"{name}.json", (json.dumps(report, indent=1) + "\n").encode())
        target = SHARE * PUBLISHED[task].mean if task in PUBLISHED else None
        draw_runs(task, folders, target, out / f"{name}.png")
        reports.append(report)
    write_atomically(out / "table.md", table(reports).encode())


def describe(
    task: str, rows: Sequence[Mapping[str, Any]], episodes: int, command: Sequence[str]
) -> dict[str, Any]:
    """One task's report; `reached` compares the mean over seeds of deterministic returns.

    It is None where nothing is published, and with fewer than SEEDS seeds or an unfinished one.
    """
    complete = len(rows) >= SEEDS and all(row["steps"] >= row["horizon_steps"] for row in rows)
    mean = float(np.mean([row["deterministic"]["mean"] for row in rows]))
    during = float(np.mean([row["training_return"] for row in rows]))
    published = PUBLISHED.get(task)
    return {
        "task": task,
        "mean": mean,
        "standard_deviation_over_seeds": float(np.std([row["deterministic"]["mean"] for row in rows])),
        "training_return_mean": during,
        "published": None if published is None else {"mean": published.mean, "source": published.source},
        "share_required": SHARE,
        "share_reached": None if published is None else mean / published.mean,
        "complete": complete,
        "reached": None if published is None or not complete else bool(mean >= SHARE * published.mean),
        "episodes": episodes,
        "evaluation_seed": EVALUATION_SEED,
        "seeds": list(rows),
        "command": list(command),
        "versions": versions(),
    }


def table(reports: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: one row a seed, one a task, nothing left out."""
    lines = [
        "# Plain PPO beside published figures",
        "",
        "Deterministic episodes of the final policy, observation statistics frozen; raw environment return.",
        "*training* is the mean of the last 100 training episodes, actions sampled: what CleanRL reports.",
        "*wall time* is the run's own, beside whatever else the machine did meanwhile: no measure of speed.",
        "",
        "| task | seed | steps | deterministic, mean ± sd | min ... max | training | wall time |",
        "|---|---|---|---|---|---|---|",
    ]
    for report in reports:
        lines += [_seed_line(report, row) for row in report["seeds"]]
    lines += [
        "",
        "| task | mean over seeds ± sd | training | published | share | at least |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_task_line(report) for report in reports]
    sources = sorted({r["published"]["source"] for r in reports if r["published"]})
    return "\n".join([*lines, "", *(f"Published: {source}." for source in sources)]) + "\n"


def _seed_line(report: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    played = row["deterministic"]
    cells = [
        report["task"],
        row["seed"],
        f"{row['steps']:,}" + ("" if row["steps"] >= row["horizon_steps"] else " (unfinished)"),
        f"{played['mean']:.0f} ± {played['std']:.0f}",
        f"{played['min']:.0f} ... {played['max']:.0f}",
        f"{row['training_return']:.0f}",
        "" if row["wall_s"] is None else f"{row['wall_s'] / 60:.0f} min",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def _task_line(report: Mapping[str, Any]) -> str:
    ours = f"{report['mean']:.0f} ± {report['standard_deviation_over_seeds']:.0f}"
    during, published = f"{report['training_return_mean']:.0f}", report["published"]
    if published is None:
        return f"| {report['task']} | {ours} | {during} | none | | |"
    verdict = {None: "not complete", True: "reached", False: "missed"}[report["reached"]]
    share = f"{report['share_reached']:.2f}"
    return (
        f"| {report['task']} | {ours} | {during} | {published['mean']:.0f} | {share} | {SHARE}: {verdict} |"
    )


def _row(run: Path, episodes: int, say: Say, partial: bool) -> dict[str, Any]:
    config, policy = read_config(run), Policy.load(run / "policy.safetensors")
    steps = policy.description["training"]["steps"]
    if steps < config.ppo.total_steps and not partial:
        raise RunError(
            f"{run} stands at step {steps} of {config.ppo.total_steps}: finish it with resume first"
        )

    def one() -> Task:
        return make(config.task)

    result = evaluate(policy, one, episodes, EVALUATION_SEED)
    say(f"{run}: {result.mean:.0f} over {episodes} episodes")
    sessions = read_rows(run / "sessions.jsonl")
    return {
        "run": run.name,
        "seed": config.seed,
        "steps": steps,
        "horizon_steps": config.ppo.total_steps,
        "deterministic": result.to_json(),
        "training_return": policy.description["training"]["recent_return"],
        "wall_s": sum(s["wall_s"] for s in sessions) if sessions else None,
        "cpu_s": sum(s["cpu_s"] for s in sessions) if sessions else None,
        "ppo": config.ppo.to_json(),
    }
