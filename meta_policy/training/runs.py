"""A training run's folder: configuration and command, progress, a state to go on from, and the head."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from agents.experiment import versions
from agents.files import write_atomically
from meta_policy import places
from meta_policy.guide import Regime
from meta_policy.presets import Preset, costs_of, preset_of
from meta_policy.training.config import HeadConfig
from meta_policy.training.training import Training
from meta_policy.virtual.traces import Traces, traces_for
from meta_policy.virtual.world import virtual_loop

KEY = "guidance.head_training"
SAVE_EVERY = 50  # updates


@dataclass(frozen=True, slots=True)
class HeadRun:
    """What is trained: a head for one executor of one task."""

    task: str
    executor_seed: int
    seed: int
    config: HeadConfig
    regime: Regime = "realtime"
    start_from: str | None = None  # the folder of a run whose weights this one begins with
    betas: tuple[float, float] | None = None  # instead of the preset's range

    def to_json(self) -> dict[str, Any]:
        told = {"task": self.task, "executor_seed": self.executor_seed, "seed": self.seed}
        begun = {"start_from": self.start_from} if self.start_from else {}
        ranged = {"betas": list(self.betas)} if self.betas else {}
        return {**told, "regime": self.regime, "config": self.config.to_json(), **begun, **ranged}


class RunError(ValueError):
    """The folder and what was asked for do not fit."""


def train(run: HeadRun, folder: Path, say: Callable[[str], None] = print, stop_at: int | None = None) -> Path:
    """Train to the horizon, or to the first update at or past `stop_at`; an unfinished run goes on where it
    stopped. The head's file comes back."""
    claim(folder, run)
    preset = preset_of(run.task)
    if run.betas:
        preset = replace(preset, betas=run.betas)
    executors = places.executors(preset, run.executor_seed)
    traces = traces_for(preset, places.traces(preset, preset.period_ms))
    training = new_training(preset, executors, traces, run.config, run.seed, run.regime)
    if run.start_from:
        training.begin_from(load(Path(run.start_from) / "resume.safetensors")[0])
    if (folder / "resume.safetensors").exists():
        training.restore(*load(folder / "resume.safetensors"))
        _rewind(folder / "progress.jsonl", training.steps)
        say(f"{folder}: going on from step {training.steps}")
    goal = run.config.total_steps if stop_at is None else min(stop_at, run.config.total_steps)
    _advance(training, goal, folder, say)
    described = {"task": preset.task, "executor_seed": run.executor_seed, "head_seed": run.seed}
    command = ["guidance-meta", *sys.argv[1:]]
    told = {"run": run.to_json(), "command": command, "latencies": traces.source, "versions": versions()}
    training.head(**described, training={**told, "steps": training.steps}).save(folder / "head.safetensors")
    return folder / "head.safetensors"


def _advance(training: Training, goal: int, folder: Path, say: Callable[[str], None]) -> None:
    updates, started, before = 0, time.perf_counter(), training.steps
    with (folder / "progress.jsonl").open("a") as log:
        while training.steps < goal:
            figures = training.advance()
            print(json.dumps(figures), file=log, flush=True)
            updates += 1
            if updates % SAVE_EVERY == 0 or training.steps >= goal:
                keep(folder / "resume.safetensors", *training.state())
                pace = (training.steps - before) / (time.perf_counter() - started)
                say(
                    f"step {training.steps:>8}  return {figures['return']:6.0f}  "
                    f"guided {figures['guided_share']:.0%}  {pace:.0f} steps/s"
                )


def claim(folder: Path, run: HeadRun) -> None:
    """Write down what this folder is for; RunError if it is for something else."""
    path = folder / "config.json"
    if not path.exists():
        told = {"run": run.to_json(), "command": ["guidance-meta", *sys.argv[1:]], "versions": versions()}
        write_atomically(path, json.dumps(told, indent=2).encode())
    elif json.loads(path.read_text())["run"] != run.to_json():
        raise RunError(f"{folder} holds another run; see {path}")


def keep(path: Path, arrays: dict[str, np.ndarray], values: dict[str, Any]) -> None:
    """Write the state of a run atomically."""
    owned = {name: np.ascontiguousarray(a).reshape(np.shape(a)) for name, a in arrays.items()}
    write_atomically(path, save(owned, {KEY: json.dumps(values)}))


def load(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `keep` wrote; RunError for any other file."""
    with safe_open(str(path), framework="numpy") as file:
        told = (file.metadata() or {}).get(KEY)
        if told is None:
            raise RunError(f"{path}: no {KEY!r} metadata: not the state of a head's training")
        return {name: file.get_tensor(name) for name in file.keys()}, json.loads(told)  # noqa: SIM118


def _rewind(path: Path, steps: int) -> None:
    """Leave out what was logged after the state was saved."""
    lines = path.read_text().splitlines() if path.exists() else []
    kept = [line for line in lines if json.loads(line)["steps"] <= steps]
    write_atomically(path, "".join(f"{line}\n" for line in kept).encode())


def new_training(
    preset: Preset,
    executors: Path,
    traces: Traces,
    config: HeadConfig,
    seed: int,
    regime: Regime = "realtime",
) -> Training:
    """A fresh run of a head for one executor."""
    loop, guide = virtual_loop(preset, executors, traces, config.lanes, regime, seed=seed)
    return Training(loop, guide, preset, costs_of(preset, regime), config, seed)
