"""`guidance-agent`: train, resume, evaluate, select and export."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents import commands

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # before numpy loads: small matrices only lose by a second thread


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except (ValueError, FileNotFoundError, FloatingPointError) as error:
        print(f"guidance-agent: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="guidance-agent", description=__doc__)
    adders = (
        _add_train,
        _add_resume,
        _add_evaluate,
        _add_select,
        _add_baseline,
        _add_export,
        _add_export_task,
    )
    added = parser.add_subparsers(dest="command", required=True)
    for add in adders:
        add(added)
    return parser


def _add_train(added: Any) -> None:
    train = added.add_parser(
        "train", help="train PPO on a task; an unfinished run of the same configuration goes on"
    )
    train.add_argument("task")
    train.add_argument("--out", type=Path, required=True)
    train.add_argument("--seed", type=int, default=0)
    train.add_argument("--preset", help="default: the task's own")
    train.add_argument("--steps", type=int, help="horizon, overrides the preset's")
    train.add_argument("--stop-at", type=int, help="stop early, to go on later")
    train.add_argument("--envs", type=int)
    train.add_argument("--members", type=int, help="critics in the ensemble")
    train.add_argument("--checkpoint-every", type=int, default=50_000)
    train.add_argument("--eval-every", type=int, default=0)
    _add_tensorboard(train)
    train.set_defaults(run=commands.train)


def _add_resume(added: Any) -> None:
    resume = added.add_parser("resume", help="go on with an interrupted run")
    resume.add_argument("folder", type=Path)
    resume.add_argument("--steps", type=int, help="stop at this total instead of the horizon")
    resume.add_argument("--new-horizon", type=int, help="change the horizon of the schedules, knowingly")
    _add_tensorboard(resume)
    resume.set_defaults(run=commands.resume)


def _add_tensorboard(command: argparse.ArgumentParser) -> None:
    told = "also log to RUN/tensorboard, under the metric names of Stable-Baselines3"
    command.add_argument("--tensorboard", action="store_true", help=told)


def _add_evaluate(added: Any) -> None:
    evaluate = added.add_parser("evaluate", help="play a policy file or a run's latest policy")
    evaluate.add_argument("policy", type=Path)
    evaluate.add_argument("--task", help="default: the task it was trained on")
    evaluate.add_argument("--episodes", type=int, default=20)
    evaluate.add_argument("--seed", type=int, default=10_000)
    evaluate.add_argument(
        "--stochastic", action="store_true", help="sample actions instead of taking the mean"
    )
    evaluate.set_defaults(run=commands.evaluate)


def _add_select(added: Any) -> None:
    select = added.add_parser("select", help="choose weak, medium and strong among a run's checkpoints")
    select.add_argument("folder", type=Path)
    select.add_argument("--episodes", type=int, default=40, help="played by every checkpoint")
    select.add_argument("--confirm", type=int, default=100, help="fresh ones, played by the chosen three")
    select.add_argument("--at-least", type=float, help="refuse a strong executor below this return")
    select.add_argument("--curve", type=Path, help="also write this path's .csv and .png")
    select.add_argument("--out", type=Path, required=True)
    select.set_defaults(run=commands.select)


def _add_baseline(added: Any) -> None:
    baseline = added.add_parser("baseline", help="finished runs beside published figures, as JSON and table")
    baseline.add_argument("folders", type=Path, nargs="+")
    baseline.add_argument("--episodes", type=int, default=20)
    baseline.add_argument("--partial", action="store_true", help="take unfinished runs too, and say so")
    baseline.add_argument("--out", type=Path, required=True)
    baseline.set_defaults(run=commands.baseline)


def _add_export(added: Any) -> None:
    export = added.add_parser("export", help="write a policy file from a run")
    export.add_argument("folder", type=Path)
    export.add_argument(
        "--at", type=int, help="the checkpoint nearest to this step; default: the latest policy"
    )
    export.add_argument("--with-critics", action="store_true")
    export.add_argument("--out", type=Path, required=True)
    export.set_defaults(run=commands.export)


def _add_export_task(added: Any) -> None:
    task = added.add_parser("export-task", help="write what a broker needs to know about a task")
    task.add_argument("task")
    task.add_argument("--out", type=Path, required=True)
    task.set_defaults(run=commands.export_task)


if __name__ == "__main__":
    sys.exit(main())
