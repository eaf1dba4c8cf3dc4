"""How weak, medium and strong are chosen, and what is written about it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from agents import selection
from agents.curves import write_selection_curve
from agents.evaluate import Evaluation
from agents.experiment import Run, RunConfig
from agents.logs import read_rows
from agents.policy_file import Policy
from agents.ppo.config import PPOConfig
from agents.selection import (
    CONFIRMATION_SEED,
    Effort,
    Scored,
    SelectionError,
    checkpoints,
    choose,
    score,
    select,
)


def scored(*means: float) -> list[Scored]:
    return [Scored(50 * (i + 1), mean) for i, mean in enumerate(means)]


def steps(chosen: dict[str, Scored]) -> dict[str, int]:
    return {name: one.steps for name, one in chosen.items()}


def test_strong_is_the_best_and_the_others_lie_nearest_their_shares() -> None:
    chosen = choose(scored(100, 440, 720, 800, 1000, 900))
    assert steps(chosen) == {"weak": 100, "medium": 150, "strong": 250}


def test_nothing_after_the_best_is_weak_or_medium() -> None:
    chosen = choose(scored(300, 600, 1000, 450, 700))
    assert steps(chosen) == {"weak": 50, "medium": 100, "strong": 150}


def test_weak_comes_before_medium_in_training_where_both_shares_are_met() -> None:
    chosen = choose(scored(440, 690, 450, 1000))
    assert steps(chosen) == {"weak": 50, "medium": 100, "strong": 200}


def test_the_order_gives_way_where_it_would_miss_a_share_by_a_tenth() -> None:
    chosen = choose(scored(700, 450, 1000))
    assert steps(chosen) == {"weak": 100, "medium": 50, "strong": 150}


def test_strong_is_the_earliest_that_is_good_enough_where_a_bar_is_set() -> None:
    means = scored(500, 800, 1210, 1000, 1500)
    assert choose(means, at_least=1200)["strong"].mean == 1210
    assert choose(means)["strong"].mean == 1500


def test_one_that_fell_short_when_confirmed_is_passed_over_as_strong_but_may_be_medium() -> None:
    chosen = choose(scored(750, 1210, 1700), at_least=1200, unconfirmed=frozenset({100}))
    assert [chosen[name].mean for name in ("weak", "medium", "strong")] == [750, 1210, 1700]


def test_where_none_reaches_the_bar_strong_is_the_best() -> None:
    assert choose(scored(500, 800, 1100, 1000), at_least=1200)["strong"].mean == 1100


@pytest.mark.parametrize("means", [(), (5.0,), (1.0, 2.0), (9.0, 2.0, 3.0)])
def test_fewer_than_two_earlier_checkpoints_are_refused(means: tuple[float, ...]) -> None:
    with pytest.raises(SelectionError, match="two checkpoints before the strong"):
        choose(scored(*means))


RETURNS = {1024: 300.0, 2048: 450.0, 3072: 700.0, 4096: 1000.0, 5120: 900.0}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run folder whose checkpoints play exactly RETURNS, and one less on the confirming episodes."""
    folder = tmp_path / "run"
    ppo = PPOConfig(total_steps=6144, envs=1, rollout_steps=64, members=2)
    made = Run(RunConfig("guidance/PerturbedHopper-v0", 0, ppo), folder, say=quiet)
    for steps in RETURNS:
        made.training.steps = steps
        made.training.networks.vector += 0.01
        made.policy().save(folder / "checkpoints" / f"step_{steps:09d}.safetensors")
        made.log.write({"steps": float(steps), "ep_return_mean": 10.0})

    def play(policy: Policy, make: object, episodes: int, seed: int) -> Evaluation:
        mean = RETURNS[policy.description["training"]["steps"]] - (seed == CONFIRMATION_SEED)
        return Evaluation([mean] * episodes, [5] * episodes)

    monkeypatch.setattr(selection, "evaluate", play)
    return folder


def quiet(line: str) -> None:
    """Says nothing."""


def test_the_three_are_copied_with_their_critics_and_described(run: Path, tmp_path: Path) -> None:
    out, stem = tmp_path / "executors", tmp_path / "curve" / "seed0"
    report = select(run, out, Effort(episodes=3, confirm=2), ["the", "command"], quiet)
    assert report == json.loads((out / "selection.json").read_text())
    assert report["command"] == ["the", "command"]
    assert {row["steps"]: row["mean"] for row in report["checkpoints"]} == RETURNS
    chosen = {name: described["steps"] for name, described in report["executors"].items()}
    assert chosen == {"weak": 2048, "medium": 3072, "strong": 4096}
    assert report["executors"]["strong"]["confirmation"]["mean"] == 999.0
    probe = np.random.default_rng(0).standard_normal((4, 11))
    for name, described in report["executors"].items():
        policy = Policy.load(out / f"{name}.safetensors")
        source = Policy.load(checkpoints(run)[described["steps"]])
        np.testing.assert_array_equal(policy.values(probe), source.values(probe))
        assert policy.description["action"]["names"] == ["thigh_joint", "leg_joint", "foot_joint"]
        assert (out / f"{name}.safetensors").stat().st_size < 1_000_000
        assert described["confirmation"]["episodes"] == 2

    write_selection_curve(run, report, stem)
    rows = list(csv.DictReader(stem.with_suffix(".csv").read_text().splitlines()))
    assert [row["executor"] for row in rows] == ["", "weak", "medium", "strong", ""]
    assert {row["training_return"] for row in rows} == {"10.00"}
    assert stem.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_a_checkpoint_whose_confirmation_falls_short_is_not_strong(run: Path, tmp_path: Path) -> None:
    report = select(run, tmp_path / "out", Effort(1, 1, at_least=700.0), [], quiet)
    assert report["fell_short_when_confirmed"] == [3072]
    assert report["executors"]["strong"]["steps"] == 4096


def test_scoring_again_plays_nothing_again(run: Path) -> None:
    said: list[str] = []
    rows = score(run, 1, said.append)
    assert len(said) == len(rows) == 5
    assert score(run, 1, said.append) == rows
    assert len(said) == 5
    assert {row["episodes"] for row in read_rows(run / "validation.jsonl")} >= {1}


def test_a_strong_executor_below_what_is_asked_for_writes_nothing(run: Path, tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match="reaches 899, below 1000"):
        select(run, tmp_path / "none", Effort(1, 1, at_least=1000.0), [], quiet)
    assert not (tmp_path / "none").exists()
