"""`guidance-meta train`: a head for one executor, by PPO on the virtual clock."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    train = commands.add_parser("train", help="train a head; an unfinished run of the same folder goes on")
    train.add_argument("task", help="such as PerturbedHopper")
    train.add_argument("--executor-seed", type=int, default=1)
    train.add_argument("--seed", type=int, default=1)
    train.add_argument("--steps", type=int, help="control steps over all lanes")
    train.add_argument("--rollout-steps", type=int, help="control steps of each lane between two updates")
    train.add_argument("--minibatch", type=int, help="steps")
    train.add_argument("--regime", choices=("realtime", "blocking"), default="realtime")
    train.add_argument("--stop-at", type=int, help="stop early, to go on later")
    train.add_argument("--out", type=Path, required=True, help="the run's folder")
    train.add_argument("--head", type=Path, help="also write the head here")
    train.add_argument("--start-from", type=Path, help="begin with what the run in this folder has learnt")
    train.add_argument("--betas", type=pair, help="range of beta such as 1.2,3.0; default: the preset's")
    train.set_defaults(run=run)


def pair(text: str) -> tuple[float, float]:
    """`1.2,3.0` as two numbers, 0 < low < high."""
    low, high = (float(part) for part in text.split(","))
    if not 0.0 < low < high:
        raise argparse.ArgumentTypeError(f"give 0 < low < high, not {text}")
    return low, high


def run(arguments: argparse.Namespace) -> int:
    from agents.files import write_atomically
    from meta_policy.presets import preset_of
    from meta_policy.training.config import HeadConfig
    from meta_policy.training.runs import HeadRun, train

    asked = {
        "total_steps": arguments.steps,
        "rollout_steps": arguments.rollout_steps,
        "minibatch": arguments.minibatch,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    task = preset_of(arguments.task).task
    told = HeadRun(
        task,
        arguments.executor_seed,
        arguments.seed,
        HeadConfig(**given),
        arguments.regime,
        None if arguments.start_from is None else str(arguments.start_from),
        arguments.betas,
    )
    written = train(told, arguments.out, _say, arguments.stop_at)
    if arguments.head is not None:
        write_atomically(arguments.head, written.read_bytes())
    _say(f"{arguments.head or written}")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)
