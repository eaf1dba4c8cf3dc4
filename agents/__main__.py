"""`guidance-agent`: train, resume, evaluate and export."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # before numpy loads: small matrices only lose by a second thread

if TYPE_CHECKING:
    from agents.policy_file import Policy


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except (ValueError, FileNotFoundError) as error:
        print(f"guidance-agent: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="guidance-agent", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _add_train(commands)
    resume = commands.add_parser("resume", help="go on with an interrupted run")
    resume.add_argument("folder", type=Path)
    resume.add_argument("--steps", type=int, help="stop at this total instead of the horizon")
    resume.add_argument("--new-horizon", type=int, help="change the horizon of the schedules, knowingly")
    resume.set_defaults(run=_resume)
    evaluate = commands.add_parser("evaluate", help="play a policy file or a run's latest policy")
    evaluate.add_argument("policy", type=Path)
    evaluate.add_argument("--task", help="default: the task it was trained on")
    evaluate.add_argument("--episodes", type=int, default=20)
    evaluate.add_argument("--seed", type=int, default=10_000)
    evaluate.add_argument(
        "--stochastic", action="store_true", help="sample actions instead of taking the mean"
    )
    evaluate.set_defaults(run=_evaluate)
    export = commands.add_parser("export", help="write a policy file from a run")
    export.add_argument("folder", type=Path)
    export.add_argument(
        "--at", type=int, help="the checkpoint nearest to this step; default: the latest policy"
    )
    export.add_argument("--with-critics", action="store_true")
    export.add_argument("--out", type=Path, required=True)
    export.set_defaults(run=_export)
    task = commands.add_parser("export-task", help="write what a broker needs to know about a task")
    task.add_argument("task")
    task.add_argument("--out", type=Path, required=True)
    task.set_defaults(run=_export_task)
    return parser


def _add_train(commands: Any) -> None:
    train = commands.add_parser(
        "train", help="train PPO on a task; an unfinished run of the same configuration goes on"
    )
    train.add_argument("task")
    train.add_argument("--out", type=Path, required=True)
    train.add_argument("--seed", type=int, default=0)
    train.add_argument("--preset", default="1m")
    train.add_argument("--steps", type=int, help="horizon, overrides the preset's")
    train.add_argument("--stop-at", type=int, help="stop early, to go on later")
    train.add_argument("--envs", type=int)
    train.add_argument("--members", type=int, help="critics in the ensemble")
    train.add_argument("--checkpoint-every", type=int, default=50_000)
    train.add_argument("--eval-every", type=int, default=0)
    train.set_defaults(run=_train)


def _train(arguments: argparse.Namespace) -> int:
    from agents.experiment import Run, RunConfig
    from agents.ppo.config import preset

    given = {"total_steps": arguments.steps, "envs": arguments.envs, "members": arguments.members}
    ppo = preset(arguments.preset, **{name: value for name, value in given.items() if value is not None})
    config = RunConfig(arguments.task, arguments.seed, ppo, arguments.checkpoint_every, arguments.eval_every)
    return _go(Run(config, arguments.out, say=_say), arguments.stop_at)


def _resume(arguments: argparse.Namespace) -> int:
    from agents.experiment import RunError, extend, open_run, read_config

    if arguments.new_horizon is not None:
        extend(arguments.folder, arguments.new_horizon)
    horizon = read_config(arguments.folder).ppo.total_steps
    if arguments.steps is not None and arguments.steps > horizon:
        raise RunError(
            f"the schedules of this run end at step {horizon}; "
            f"--new-horizon {arguments.steps} changes that explicitly"
        )
    return _go(open_run(arguments.folder, _say), arguments.steps)


def _go(run: Any, stop_at: int | None) -> int:
    if run.finished:
        _say(f"{run.folder}: finished at step {run.training.steps}; nothing to do")
        return 0
    run.train(stop_at)
    shares = ", ".join(f"{name} {share:.0%}" for name, share in run.training.time_split().items())
    _say(f"{run.folder}: step {run.training.steps}; time: {shares}")
    return 0


def _load_policy(path: Path) -> Policy:
    from agents.policy_file import Policy

    return Policy.load(path / "policy.safetensors" if path.is_dir() else path)


def _evaluate(arguments: argparse.Namespace) -> int:
    from agents.environments import make
    from agents.evaluate import evaluate

    policy = _load_policy(arguments.policy)
    task = arguments.task or policy.description["task"]
    result = evaluate(
        policy, lambda: make(task), arguments.episodes, arguments.seed, not arguments.stochastic
    )
    print(
        json.dumps(
            {
                "task": task,
                "seed": arguments.seed,
                "deterministic": not arguments.stochastic,
                **result.to_json(),
            }
        )
    )
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from agents.export import without_critics

    source = arguments.folder / "policy.safetensors"
    if arguments.at is not None:
        saved = sorted((arguments.folder / "checkpoints").glob("step_*.safetensors"))
        if not saved:
            raise FileNotFoundError(f"{arguments.folder} has no checkpoints")
        source = min(saved, key=lambda path: abs(int(path.stem.removeprefix("step_")) - arguments.at))
    policy = _load_policy(source)
    (policy if arguments.with_critics else without_critics(policy)).save(arguments.out)
    _say(f"{arguments.out}: {policy.description['task']} at step {policy.description['training']['steps']}")
    return 0


def _export_task(arguments: argparse.Namespace) -> int:
    from agents.tasks.export import export_task

    export_task(arguments.task, arguments.out)
    _say(f"{arguments.out}: {arguments.task}")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
