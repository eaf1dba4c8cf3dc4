"""The executors in `artifacts/`: what they claim, and that the broker's own loader runs them alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.environments import info_of, observation_names_of
from agents.policy_file import Policy
from broker.providers.policy_file import load_policy_file

ROOT = Path(__file__).parents[2] / "artifacts" / "executors"
FOLDERS = sorted(path.parent for path in ROOT.glob("*/*/selection.json"))
NAMES = ("weak", "medium", "strong")
EVERY = [folder / f"{name}.safetensors" for folder in FOLDERS for name in NAMES]


def selection(folder: Path) -> dict[str, Any]:
    described: dict[str, Any] = json.loads((folder / "selection.json").read_text())
    return described


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_two_seeds_of_hopper_are_shipped() -> None:
    assert {shown(folder) for folder in FOLDERS} >= {"PerturbedHopper/seed1", "PerturbedHopper/seed2"}


@pytest.mark.parametrize("folder", FOLDERS, ids=shown)
def test_weak_medium_and_strong_come_in_that_order(folder: Path) -> None:
    told = selection(folder)["executors"]
    steps = [told[name]["steps"] for name in NAMES]
    fresh = [told[name]["confirmation"]["mean"] for name in NAMES]
    assert steps == sorted(steps)
    assert fresh == sorted(fresh)
    assert all(told[name]["confirmation"]["episodes"] >= 100 for name in NAMES)
    assert min(row["episodes"] for row in selection(folder)["checkpoints"]) >= 40
    if folder.parent.name == "PerturbedHopper":
        assert fresh[-1] >= 1200


@pytest.mark.parametrize("path", EVERY, ids=shown)
def test_a_shipped_file_names_its_task_and_holds_five_critics(path: Path) -> None:
    policy = Policy.load(path)
    info = info_of(policy.description["task"])
    assert path.parts[-3] in info.task_id
    assert policy.description["action"]["names"] == list(info.action_names)
    assert policy.description["observation"]["names"] == list(observation_names_of(info.task_id))
    assert policy.description["training"]["steps"] == selection(path.parent)["executors"][path.stem]["steps"]
    assert policy.critics is not None
    assert policy.critics.functions.shape.members == 5
    assert path.stat().st_size < 1_000_000


@pytest.mark.parametrize("path", EVERY, ids=shown)
def test_the_broker_s_reading_of_a_file_acts_alike(path: Path) -> None:
    ours, theirs = Policy.load(path), load_policy_file(path)
    raw = ours.norm_mean + 2.0 * ours.norm_std * np.random.default_rng(0).standard_normal((50, theirs.inputs))
    hidden = theirs.normalise(raw)
    for i, (weight, bias) in enumerate(zip(theirs.weights, theirs.biases, strict=True)):
        hidden = hidden @ weight.T + bias
        hidden = hidden if i == len(theirs.weights) - 1 else np.tanh(hidden)
    np.testing.assert_allclose(np.clip(hidden, theirs.low, theirs.high), ours.predict(raw)[0], atol=1e-6)
