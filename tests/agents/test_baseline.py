"""The table that sets plain PPO beside published figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agents import baseline
from agents.baseline import describe, report_runs, table
from agents.evaluate import Evaluation
from agents.experiment import Run, RunConfig, RunError
from agents.ppo.config import PPOConfig


def row(seed: int, mean: float) -> dict[str, Any]:
    played = Evaluation([mean - 10.0, mean + 10.0], [1, 1]).to_json()
    return {
        "seed": seed,
        "steps": 1_001_472,
        "horizon_steps": 1_000_000,
        "deterministic": played,
        "training_return": 100.0,
        "wall_s": 600.0,
    }


def test_a_task_reaches_its_share_by_the_mean_over_seeds() -> None:
    reached = describe("Hopper-v5", [row(1, 1000.0), row(2, 3100.0), row(3, 2050.0)], 2, [])
    assert reached["mean"] == 2050.0
    assert reached["reached"] is True
    assert reached["share_reached"] == pytest.approx(2050 / 2383)
    assert describe("Hopper-v5", [row(seed, 2000.0) for seed in (1, 2, 3)], 2, [])["reached"] is False
    assert describe("Ant-v5", [row(1, 2000.0)], 2, [])["reached"] is None


def test_the_table_has_every_seed_and_says_what_is_missed() -> None:
    text = table(
        [
            describe("Hopper-v5", [row(1, 900.0), row(2, 950.0), row(3, 1000.0)], 2, []),
            describe("Ant-v5", [row(1, 5.0)], 2, []),
        ]
    )
    assert "| Hopper-v5 | 1 | 1,001,472 | 900 ± 10 | 890 ... 910 | 100 | 10 min |" in text
    assert "| Hopper-v5 | 950 ± 41 | 100 | 2383 | 0.40 | 0.85: missed |" in text
    assert "| Ant-v5 | 5 ± 0 | 100 | none | | |" in text
    assert "CleanRL" in text


def test_nothing_is_claimed_before_three_finished_seeds() -> None:
    two = [row(1, 3000.0), row(2, 3000.0)]
    assert describe("Hopper-v5", two, 2, [])["reached"] is None
    cut = describe("Hopper-v5", [*two, {**row(3, 3000.0), "steps": 500_000}], 2, [])
    assert cut["reached"] is None
    assert "0.85: not complete" in table([cut])


def finished_run(folder: Path, seed: int, steps: int = 128) -> Path:
    ppo = PPOConfig(total_steps=128, envs=1, rollout_steps=64, epochs=1, members=1, hidden=(8,))
    run = Run(RunConfig("Hopper-v5", seed, ppo), folder / f"hopper_{seed}", say=lambda line: None)
    run.train(steps)
    return run.folder


def test_finished_runs_become_a_json_a_picture_and_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        baseline, "evaluate", lambda policy, make, episodes, seed: Evaluation([50.0] * episodes, [9])
    )
    runs = [finished_run(tmp_path, seed) for seed in (2, 1)]
    report_runs(runs, tmp_path / "out", 20, ["a", "command"], lambda line: None)
    told = json.loads((tmp_path / "out" / "hopper.json").read_text())
    assert [seed["seed"] for seed in told["seeds"]] == [1, 2]
    assert told["seeds"][0]["deterministic"]["episodes"] == 20
    assert told["seeds"][0]["wall_s"] > 0
    assert told["command"] == ["a", "command"]
    assert (tmp_path / "out" / "hopper.png").read_bytes().startswith(b"\x89PNG")
    assert "| Hopper-v5 | 2 |" in (tmp_path / "out" / "table.md").read_text()


def test_an_unfinished_run_is_not_reported(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="stands at step 64 of 128"):
        report_runs([finished_run(tmp_path, 1, steps=64)], tmp_path, 1, [], lambda line: None)


def test_an_unfinished_run_may_be_reported_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline, "evaluate", lambda policy, make, episodes, seed: Evaluation([50.0], [9]))
    report_runs([finished_run(tmp_path, 1, steps=64)], tmp_path, 1, [], lambda line: None, partial=True)
    assert "| Hopper-v5 | 1 | 64 (unfinished) |" in (tmp_path / "table.md").read_text()
