"""What each command of `guidance-agent` does. Heavy imports stand inside, so that `--help` stays quick."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.policy_file import Policy


def train(arguments: argparse.Namespace) -> int:
    from agents.environments import info_of
    from agents.experiment import Run, RunConfig
    from agents.ppo.config import preset, preset_of

    info_of(arguments.task)  # before a folder is made for it
    given = {"total_steps": arguments.steps, "envs": arguments.envs, "members": arguments.members}
    name = arguments.preset or preset_of(arguments.task)
    ppo = preset(name, **{key: value for key, value in given.items() if value is not None})
    config = RunConfig(arguments.task, arguments.seed, ppo, arguments.checkpoint_every, arguments.eval_every)
    return _go(Run(config, arguments.out, say=say, tensorboard=arguments.tensorboard), arguments.stop_at)


def resume(arguments: argparse.Namespace) -> int:
    from agents.experiment import RunError, extend, open_run, read_config

    if arguments.new_horizon is not None:
        extend(arguments.folder, arguments.new_horizon)
    horizon = read_config(arguments.folder).ppo.total_steps
    if arguments.steps is not None and arguments.steps > horizon:
        raise RunError(
            f"the schedules of this run end at step {horizon}; "
            f"--new-horizon {arguments.steps} changes that explicitly"
        )
    return _go(open_run(arguments.folder, say, tensorboard=arguments.tensorboard), arguments.steps)


def _go(run: Any, stop_at: int | None) -> int:
    if run.finished:
        say(f"{run.folder}: finished at step {run.training.steps}; nothing to do")
        return 0
    run.train(stop_at)
    shares = ", ".join(f"{name} {share:.0%}" for name, share in run.training.time_split().items())
    say(f"{run.folder}: step {run.training.steps}; time: {shares}")
    return 0


def evaluate(arguments: argparse.Namespace) -> int:
    from agents.environments import make
    from agents.evaluate import evaluate as play

    policy = load_policy(arguments.policy)
    task = arguments.task or policy.description["task"]
    result = play(policy, lambda: make(task), arguments.episodes, arguments.seed, not arguments.stochastic)
    described = {"task": task, "seed": arguments.seed, "deterministic": not arguments.stochastic}
    print(json.dumps({**described, **result.to_json()}))
    return 0


def export(arguments: argparse.Namespace) -> int:
    from agents.export import named, without_critics
    from agents.selection import checkpoints

    source = arguments.folder / "policy.safetensors"
    if arguments.at is not None:
        saved = checkpoints(arguments.folder)
        if not saved:
            raise FileNotFoundError(f"{arguments.folder} has no checkpoints")
        source = saved[min(saved, key=lambda steps: abs(steps - arguments.at))]
    policy = named(load_policy(source))
    (policy if arguments.with_critics else without_critics(policy)).save(arguments.out)
    say(f"{arguments.out}: {policy.description['task']} at step {policy.description['training']['steps']}")
    return 0


def select(arguments: argparse.Namespace) -> int:
    from agents.curves import write_selection_curve
    from agents.selection import Effort
    from agents.selection import select as choose_and_copy

    effort = Effort(arguments.episodes, arguments.confirm, arguments.at_least)
    command = ["guidance-agent", *sys.argv[1:]]
    report = choose_and_copy(arguments.folder, arguments.out, effort, command, say)
    if arguments.curve is not None:
        write_selection_curve(arguments.folder, report, arguments.curve)
    return 0


def baseline(arguments: argparse.Namespace) -> int:
    from agents.baseline import report_runs

    command = ["guidance-agent", *sys.argv[1:]]
    report_runs(arguments.folders, arguments.out, arguments.episodes, command, say, arguments.partial)
    return 0


def export_task(arguments: argparse.Namespace) -> int:
    from agents.environments import info_of
    from agents.tasks.export import export_task as write_folder

    task = info_of(arguments.task).task_id
    write_folder(task, arguments.out)
    say(f"{arguments.out}: {task}")
    return 0


def load_policy(path: Path) -> Policy:
    """A policy file, or the latest policy of a run folder."""
    from agents.policy_file import Policy

    return Policy.load(path / "policy.safetensors" if path.is_dir() else path)


def say(line: str) -> None:
    print(line, flush=True)
