"""COMPOSITION ROOT of a training run: task, learner, run folder, and going on after an interruption."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agents.checkpoint import load_checkpoint, save_checkpoint
from agents.environments import make
from agents.evaluate import evaluate
from agents.export import policy_of, without_critics
from agents.files import write_atomically
from agents.logs import ProgressLog, append_row, rewind
from agents.policy_file import Policy
from agents.ppo.config import PPOConfig
from agents.ppo.training import Training
from agents.query import Guide, QueryPolicy
from agents.tensorboard import TensorBoardLog
from agents.vector import VectorEnv

RESUME = "resume.safetensors"
EVALUATION_SEED = 10_000


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What is run. Steps are environment steps over all lanes; 0 switches a periodic action off."""

    task: str
    seed: int
    ppo: PPOConfig
    checkpoint_every: int = 50_000
    eval_every: int = 0
    eval_episodes: int = 20

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "seed": self.seed,
            "ppo": self.ppo.to_json(),
            "checkpoint_every": self.checkpoint_every,
            "eval_every": self.eval_every,
            "eval_episodes": self.eval_episodes,
        }

    @staticmethod
    def from_json(values: dict[str, Any]) -> RunConfig:
        return RunConfig(**{**values, "ppo": PPOConfig.from_json(values["ppo"])})


class RunError(ValueError):
    """The run folder and what was asked for do not fit; the message says how."""


def versions() -> dict[str, str]:
    """What a result depends on."""
    packages = {name: version(name) for name in ("numpy", "gymnasium", "mujoco")}
    return {"python": platform.python_version(), "machine": platform.machine(), **packages}


class Run:
    """One run folder. Made anew, or found and continued if it holds the same configuration."""

    def __init__(
        self,
        config: RunConfig,
        folder: Path,
        query: QueryPolicy | None = None,
        guide: Guide | None = None,
        say: Callable[[str], None] = print,
        tensorboard: bool = False,
    ) -> None:
        self.config, self.folder, self.say = config, folder, say
        _claim(folder, config)
        env = VectorEnv(lambda: make(config.task), config.ppo.envs, config.seed)
        self.training = Training(env, config.ppo, config.seed, query, guide)
        self.log = ProgressLog(folder)
        if (folder / RESUME).exists():
            self._restore()
        events = folder / "tensorboard"
        self.tensorboard = TensorBoardLog(events, self.training.steps) if tensorboard else None

    @property
    def finished(self) -> bool:
        return self.training.steps >= self.config.ppo.total_steps

    def train(self, stop_at: int | None = None) -> None:
        """Go on to the horizon, or to the first batch end at or past `stop_at`."""
        goal = self.config.ppo.total_steps if stop_at is None else min(stop_at, self.config.ppo.total_steps)
        started, before, busy = time.perf_counter(), self.training.steps, time.process_time()
        while self.training.steps < goal:
            self._batch()
            self._report(started, before)
        self.save()
        took = {"wall_s": time.perf_counter() - started, "cpu_s": time.process_time() - busy}
        append_row(self.folder / "sessions.jsonl", {"from": before, "steps": self.training.steps, **took})

    def save(self) -> None:
        """Everything needed to go on, and the policy as it stands."""
        save_checkpoint(self.folder / RESUME, *self.training.state())
        self.policy().save(self.folder / "policy.safetensors")

    def policy(self) -> Policy:
        return policy_of(self.training, self.config.task, self.config.seed, versions())

    def _batch(self) -> None:
        before = self.training.steps
        row = self.training.advance()
        self.log.write(row)
        if self.tensorboard is not None:
            self.tensorboard.write(row)
        if _crossed(before, self.training.steps, self.config.eval_every):
            self._evaluate()
        if _crossed(before, self.training.steps, self.config.checkpoint_every):
            self.policy().save(self.folder / "checkpoints" / f"step_{self.training.steps:09d}.safetensors")
            self.save()

    def _evaluate(self) -> None:
        result = evaluate(
            without_critics(self.policy()),
            lambda: make(self.config.task),
            self.config.eval_episodes,
            EVALUATION_SEED,
        )
        steps = self.training.steps
        append_row(self.folder / "evaluations.jsonl", {"steps": steps, **result.to_json()})
        if self.tensorboard is not None:
            self.tensorboard.write_evaluation(steps, result.mean, sum(result.lengths) / len(result.lengths))

    def _restore(self) -> None:
        self.training.restore(*load_checkpoint(self.folder / RESUME))
        self.log.rewind(self.training.steps)
        rewind(self.folder / "evaluations.jsonl", self.training.steps)
        self.say(f"{self.folder}: going on from step {self.training.steps}")

    def _report(self, started: float, before: int) -> None:
        training = self.training
        if (training.steps // training.config.batch) % 10 and not self.finished:
            return
        elapsed = time.perf_counter() - started
        recent = [r for r, _ in training.recent]
        mean = sum(recent) / len(recent) if recent else float("nan")
        split = training.time_split()
        self.say(
            f"step {training.steps:>9}  return {mean:8.1f}  "
            f"{(training.steps - before) / elapsed:6.0f} steps/s  "
            + "  ".join(f"{name} {share:.0%}" for name, share in split.items())
        )


def open_run(folder: Path, say: Callable[[str], None] = print, tensorboard: bool = False) -> Run:
    """The run that `folder` holds; RunError if it holds none."""
    return Run(read_config(folder), folder, say=say, tensorboard=tensorboard)


def read_config(folder: Path) -> RunConfig:
    path = folder / "config.json"
    if not path.exists():
        raise RunError(f"{folder} holds no run: there is no config.json")
    try:
        return RunConfig.from_json(json.loads(path.read_text())["run"])
    except (KeyError, TypeError) as error:
        raise RunError(f"{path} does not describe a run of this version: {error}") from error


def extend(folder: Path, horizon: int) -> None:
    """Change the horizon of an existing run, explicitly.

    What comes after differs from a run that had the longer horizon from its start: the schedules bend here.
    """
    read_config(folder)
    described = json.loads((folder / "config.json").read_text())
    described["run"]["ppo"]["total_steps"] = horizon
    described.setdefault("extended_to", []).append(horizon)
    RunConfig.from_json(described["run"])
    write_atomically(folder / "config.json", json.dumps(described, indent=2).encode())


def _claim(folder: Path, config: RunConfig) -> None:
    path = folder / "config.json"
    if path.exists():
        held = read_config(folder).to_json()
        apart = _differences(held, config.to_json())
        if apart:
            raise RunError(f"{folder} holds another run: {'; '.join(apart)}")
        return
    command = ["guidance-agent", *sys.argv[1:]]
    described = {"run": config.to_json(), "versions": versions(), "command": command}
    write_atomically(path, json.dumps(described, indent=2).encode())


def _differences(held: dict[str, Any], asked: dict[str, Any], prefix: str = "") -> list[str]:
    apart = []
    for key in sorted(held.keys() | asked.keys()):
        old, new = held.get(key), asked.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            apart += _differences(old, new, f"{prefix}{key}.")
        elif old != new:
            apart.append(f"{prefix}{key} is {old}, asked for {new}")
    return apart


def _crossed(before: int, after: int, every: int) -> bool:
    return every > 0 and before // every < after // every
