"""Progress under the names Stable-Baselines3 users look for."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from agents.tensorboard import TensorBoardLog, scalars

ROW = {"steps": 512.0, "ep_return_mean": 3.0, "policy_loss": -0.1, "entropy": 2.0, "query_rate": 0.5}


def test_figures_have_the_names_and_signs_of_stable_baselines3() -> None:
    assert scalars(ROW) == {
        "rollout/ep_rew_mean": 3.0,
        "train/policy_gradient_loss": -0.1,
        "train/entropy_loss": -2.0,
        "guidance/query_rate": 0.5,
    }


def test_a_figure_that_is_not_there_yet_is_left_out() -> None:
    assert "rollout/ep_rew_mean" not in scalars({**ROW, "ep_return_mean": math.nan})


def test_a_resumed_run_drops_what_it_is_about_to_log_again(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    first = TensorBoardLog(tmp_path, 0)
    first.write(ROW)
    first.write({**ROW, "steps": 1024.0, "ep_return_mean": 99.0})
    first.writer.close()
    second = TensorBoardLog(tmp_path, 512)
    second.write({**ROW, "steps": 1024.0, "ep_return_mean": 5.0})
    second.write_evaluation(1024, 7.0, 30.0)
    second.writer.close()
    events = accumulator.EventAccumulator(str(tmp_path)).Reload()
    shown = [(event.step, event.value) for event in events.Scalars("rollout/ep_rew_mean")]
    assert shown == [(512, 3.0), (1024, 5.0)]
    assert events.Scalars("eval/mean_reward")[0].value == 7.0
