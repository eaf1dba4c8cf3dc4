"""Runs that stop and go on: nothing about them may show that they stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from agents.checkpoint import KEY, CheckpointError, load_checkpoint
from agents.experiment import RESUME, Run, RunConfig, RunError, extend, open_run
from agents.logs import read_rows
from agents.ppo.config import PPOConfig

TASK = "guidance/PerturbedHopper-v0"
PPO = PPOConfig(
    total_steps=1024, envs=2, rollout_steps=64, epochs=2, members=2, hidden=(16, 16), guidance_weight=1.0
)


def config(**changes: object) -> RunConfig:
    return RunConfig(TASK, 3, PPO, checkpoint_every=256, eval_every=512, eval_episodes=2, **changes)  # type: ignore[arg-type]


def quiet(line: str) -> None:
    """Says nothing."""


def train(folder: Path, *stops: int | None) -> Run:
    """Train to each stop in turn, with a new `Run` made from the folder every time."""
    for stop in stops:
        run = Run(config(), folder, say=quiet)
        run.train(stop)
    return run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    train(folder, None)
    return folder


def assert_same_run(one: Path, other: Path) -> None:
    for name in (RESUME, "policy.safetensors", "progress.jsonl", "progress.csv", "evaluations.jsonl"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


@pytest.mark.parametrize("stops", [(512, None), (130, 640, None)])
def test_stopping_and_going_on_equals_never_stopping(
    whole: Path, tmp_path: Path, stops: tuple[int | None, ...]
) -> None:
    """Weights, optimiser, statistics, physics, generators and logs, bit for bit."""
    train(tmp_path, *stops)
    assert_same_run(whole, tmp_path)
    arrays, values = load_checkpoint(tmp_path / RESUME)
    assert {"parameters", "adam.second", "norm.mean", "env_scale.accumulated"} <= arrays.keys()
    assert "env.env/1/physics/integration" in arrays
    assert values["streams"].keys() == {"initial", "noise", "shuffle", "masks"}
    assert values["steps"] == 1024


def test_a_run_killed_between_checkpoints_logs_nothing_twice(whole: Path, tmp_path: Path) -> None:
    train(tmp_path, 512)
    killed = Run(config(), tmp_path, say=quiet)
    killed.training.advance()
    killed.log.write({"steps": 640.0, "lost": 1.0})  # logged, then the machine went away
    with (tmp_path / "progress.jsonl").open("a") as file:
        file.write('{"steps": 768.0, "cut sh')
    train(tmp_path, None)
    assert_same_run(whole, tmp_path)


def test_going_on_in_another_process_equals_never_stopping(whole: Path, tmp_path: Path) -> None:
    train(tmp_path, 512)
    command = [sys.executable, "-m", "agents", "resume", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{tmp_path}: going on from step 512" in done.stdout
    assert_same_run(whole, tmp_path)


def test_schedules_go_on_where_they_were_and_end_at_zero(whole: Path, tmp_path: Path) -> None:
    before = train(tmp_path, 512).training
    after = Run(config(), tmp_path, say=quiet).training
    assert after.steps == 512
    assert after.learning_rate.at(after.steps) == before.learning_rate.at(before.steps) == 1.5e-4
    rates = [row["learning_rate"] for row in read_rows(whole / "progress.jsonl")]
    assert rates == pytest.approx([3e-4 * (1 - step / 1024) for step in range(0, 1024, 128)])
    assert after.learning_rate.at(5000) == 0.0


def test_another_horizon_must_be_asked_for_by_name(tmp_path: Path) -> None:
    train(tmp_path, 512)
    longer = RunConfig(
        TASK, 3, PPOConfig(**{**PPO.to_json(), "total_steps": 2048, "hidden": (16, 16)}), 256, 512, 2
    )
    with pytest.raises(RunError, match=r"ppo\.total_steps is 1024, asked for 2048"):
        Run(longer, tmp_path, say=quiet)
    extend(tmp_path, 2048)
    run = open_run(tmp_path, quiet)
    assert run.config.ppo.total_steps == 2048
    run.train(640)
    assert json.loads((tmp_path / "config.json").read_text())["extended_to"] == [2048]
    assert run.training.steps == 640


def test_a_finished_run_stays_finished(whole: Path) -> None:
    run = Run(config(), whole, say=quiet)
    assert run.finished
    assert run.training.episodes > 0


def test_the_seed_and_versions_are_written_down(whole: Path) -> None:
    described = json.loads((whole / "config.json").read_text())
    assert described["run"]["seed"] == 3
    assert {"numpy", "mujoco", "gymnasium", "python", "machine"} <= described["versions"].keys()


def test_evaluations_during_training_leave_the_statistics_and_the_streams_alone(
    whole: Path, tmp_path: Path
) -> None:
    silent = RunConfig(TASK, 3, PPO, checkpoint_every=256, eval_every=0, eval_episodes=2)
    Run(silent, tmp_path, say=quiet).train()
    assert (tmp_path / RESUME).read_bytes() == (whole / RESUME).read_bytes()
    assert len(read_rows(whole / "evaluations.jsonl")) == 2


def rewritten(source: Path, target: Path, change: Callable[[dict[str, np.ndarray]], None]) -> Path:
    from safetensors import safe_open

    with safe_open(str(source), framework="numpy") as file:
        described = file.metadata()
    arrays = load_file(source)
    change(arrays)
    save_file(arrays, target, described)
    return target


@pytest.mark.parametrize("name", ["norm.mean", "norm.m2", "norm.count", "env_scale.accumulated"])
def test_a_checkpoint_without_its_statistics_is_refused(whole: Path, tmp_path: Path, name: str) -> None:
    damaged = rewritten(whole / RESUME, tmp_path / "x", lambda arrays: arrays.pop(name))
    with pytest.raises(CheckpointError, match=f"without the statistics {name}"):
        load_checkpoint(damaged)


def test_other_files_are_refused_in_words(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="not a checkpoint of a run"):
        load_checkpoint(whole / "policy.safetensors")
    (tmp_path / "x").write_bytes((whole / RESUME).read_bytes()[:500])
    with pytest.raises(CheckpointError):
        load_checkpoint(tmp_path / "x")
    with pytest.raises(CheckpointError):
        load_checkpoint(tmp_path / "absent")
    save_file({"a": np.zeros(1)}, tmp_path / "y", {KEY: json.dumps({"schema": 999})})
    with pytest.raises(CheckpointError, match="schema 999"):
        load_checkpoint(tmp_path / "y")
    with pytest.raises(RunError, match="holds no run"):
        open_run(tmp_path)
