"""`guidance-agent` as a user types it: what works, and plain words for what does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.__main__ import main
from agents.policy_file import Policy

TASK = "guidance/PerturbedHopper-v0"
TRAIN = ["train", TASK, "--preset", "smoke", "--steps", "2048", "--envs", "2", "--members", "2"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("run"))
    periods = ["--checkpoint-every", "512", "--eval-every", "1024", "--stop-at", "1024"]
    assert main([*TRAIN, "--seed", "5", *periods, "--out", folder]) == 0
    return folder


def test_an_unfinished_run_goes_on_to_its_horizon_and_then_says_so(
    run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["resume", run, "--steps", "1280"]) == 0
    assert main(["resume", run]) == 0
    assert main(["resume", run]) == 0
    said = capsys.readouterr().out
    assert "going on from step 1024" in said
    assert "going on from step 1280" in said
    assert "finished at step 2048; nothing to do" in said
    lines = (Path(run) / "evaluations.jsonl").read_text().splitlines()
    assert [json.loads(line)["steps"] for line in lines] == [1024, 2048]


def test_going_past_the_horizon_must_be_said_by_name(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["resume", run, "--steps", "9999"]) == 2
    assert "--new-horizon 9999 changes that explicitly" in capsys.readouterr().err
    assert main(["resume", run, "--new-horizon", "2304"]) == 0
    assert "step 2304" in capsys.readouterr().out


def test_evaluate_prints_one_json_object(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", run, "--episodes", "2", "--task", "Hopper-v5"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["task"] == "Hopper-v5"
    assert told["deterministic"]
    assert len(told["returns"]) == 2


def test_export_takes_the_nearest_checkpoint_with_or_without_critics(run: str, tmp_path: Path) -> None:
    out = tmp_path / "p.safetensors"
    assert main(["export", run, "--at", "600", "--out", str(out)]) == 0
    policy = Policy.load(out)
    assert policy.critics is None
    assert policy.description["training"]["steps"] == 512
    assert policy.description["training"]["seed"] == 5
    assert main(["export", run, "--with-critics", "--out", str(out)]) == 0
    assert Policy.load(out).critics is not None


@pytest.mark.parametrize("name", [TASK, "Hopper-v5"])
def test_export_task_takes_either_name(name: str, tmp_path: Path) -> None:
    assert main(["export-task", name, "--out", str(tmp_path / "t")]) == 0
    assert json.loads((tmp_path / "t" / "task.json").read_text())["task_id"] == TASK


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["train", "Hoper-v5", "--out", "OUT"],
            "unknown task 'Hoper-v5'; known: guidance/PerturbedHopper-v0",
        ),
        (["train", "Hopper-v5", "--preset", "2m", "--out", "OUT"], "no preset '2m'; there are smoke"),
        (["train", "Hopper-v5", "--envs", "0", "--out", "OUT"], "envs must be positive, got 0"),
        (["export-task", "Hoper", "--out", "OUT"], "unknown task 'Hoper'"),
        (["resume", "OUT"], "holds no run"),
        (["select", "OUT", "--out", "OUT"], "holds no run"),
        (["evaluate", "OUT"], "OUT"),
        (["export", "OUT", "--at", "5", "--out", "OUT"], "has no checkpoints"),
    ],
)
def test_what_cannot_be_done_is_said_in_words_and_leaves_nothing(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "OUT")
    assert main([out if argument == "OUT" else argument for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("guidance-agent: ")
    assert told in error
    assert "Traceback" not in error
    assert not Path(out).exists()


def test_another_task_on_an_unknown_name_is_refused(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", run, "--task", "Nothing-v0"]) == 2
    assert "unknown task 'Nothing-v0'" in capsys.readouterr().err
    assert main(["evaluate", run, "--task", "Walker2d-v5", "--episodes", "1"]) == 2
    assert "11" in capsys.readouterr().err
