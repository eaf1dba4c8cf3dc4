"""The task folder is complete: a reader that knows only its two files repeats observation, reward and end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from agents.tasks import TASKS, make_task
from agents.tasks.export import export_task

HOPPER = "guidance/PerturbedHopper-v0"


class FolderReader:
    """Steps a task from its folder as `docs/task_folder.md` tells."""

    def __init__(self, folder: Path) -> None:
        self.task: dict[str, Any] = json.loads((folder / "task.json").read_text())
        self.model = mujoco.MjModel.from_xml_path(str(folder / self.task["model"]))
        self.data = mujoco.MjData(self.model)

    def start(self, sim_state: np.ndarray) -> None:
        mujoco.mj_setState(self.model, self.data, sim_state, mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_forward(self.model, self.data)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool]:
        before = self._position()
        self.data.ctrl[:] = action
        mujoco.mj_step(self.model, self.data, nstep=self.task["frame_skip"])
        mujoco.mj_rnePostConstraint(self.model, self.data)
        healthy = all(self._inside(entry) for entry in self.task["termination"])
        speed = (self._position() - before) / (self.task["period_us"] * 1e-6)
        quantities = {
            "velocity": speed,
            "action_squared": np.sum(np.square(action)),
            "healthy": float(healthy),
            "contact_squared": np.sum(np.square(self._contact())),
        }
        cost = sum(term["weight"] * quantities[term["kind"]] for term in self.task["cost_terms"].values())
        return self.observation(), float(cost), not healthy

    def observation(self) -> np.ndarray:
        parts = []
        for part in self.task["observation"]["parts"]:
            limit = part.get("clip", np.inf)
            values = getattr(self.data, part["source"]).ravel()[part["start"] :]
            parts.append(np.clip(values, -limit, limit))
        return np.concatenate(parts)

    def _position(self) -> float:
        term = next(t for t in self.task["cost_terms"].values() if t["kind"] == "velocity")
        field = getattr(self.data, term["source"])
        return float(field[term["body"], term["index"]] if "body" in term else field[term["index"]])

    def _contact(self) -> np.ndarray:
        term = self.task["cost_terms"].get("contact", {"clip": 0.0})
        return np.clip(self.data.cfrc_ext, -term["clip"], term["clip"])

    def _inside(self, entry: dict[str, Any]) -> bool:
        values = getattr(self.data, entry["source"]).ravel()[entry["start"] : entry["stop"]]
        low = -np.inf if entry["low"] is None else entry["low"]
        high = np.inf if entry["high"] is None else entry["high"]
        if entry["inclusive"]:
            return bool(np.all((low <= values) & (values <= high)))
        return bool(np.all((low < values) & (values < high)))


@pytest.mark.parametrize("task_id", TASKS)
def test_the_folder_alone_repeats_observation_reward_and_end(task_id: str, tmp_path: Path) -> None:
    reader = FolderReader(export_task(task_id, tmp_path / "task"))
    env = make_task(task_id, perturb=False)
    env.reset(seed=4)
    reader.start(env.simulation_state())
    actions = np.random.default_rng(0).uniform(-1, 1, (80, env.info.action_dim)).astype(np.float32)
    ended = False
    for action in actions:
        observation, reward, ended, _, _ = env.step(action)
        seen, cost, over = reader.step(action)
        # not bit for bit: contacts amplify the last digit of HalfCheetah's density over 80 steps
        np.testing.assert_allclose(seen, observation, rtol=1e-4, atol=1e-4)
        assert cost == pytest.approx(-reward, rel=1e-4, abs=1e-4)
        assert over == ended
        if ended:
            break
    assert ended == ("HalfCheetah" not in task_id)  # random actions end the other three within 80 steps


@pytest.mark.parametrize("task_id", TASKS)
def test_the_exported_model_is_the_tasks_model(task_id: str, tmp_path: Path) -> None:
    exported = mujoco.MjModel.from_xml_path(str(export_task(task_id, tmp_path) / "model.xml"))
    own = make_task(task_id).unwrapped.model
    for field in ("body_mass", "body_inertia", "geom_size", "geom_friction", "actuator_gear", "dof_damping"):
        np.testing.assert_allclose(getattr(exported, field), getattr(own, field), rtol=1e-12, err_msg=field)


def test_the_exported_half_cheetah_loads_without_a_word(tmp_path: Path) -> None:
    folder = export_task("guidance/PerturbedHalfCheetah-v0", tmp_path)
    assert "settotalmass" not in (folder / "model.xml").read_text()


def test_what_the_folder_says_of_hopper(tmp_path: Path) -> None:
    task = json.loads((export_task(HOPPER, tmp_path) / "task.json").read_text())
    assert task["format"] == "guidance-task/1"
    assert (task["task_id"], task["period_us"], task["frame_skip"]) == (HOPPER, 8_000, 4)
    assert task["action"]["names"] == ["thigh_joint", "leg_joint", "foot_joint"]
    assert task["action"]["low"] == [-1.0] * 3
    assert task["action"]["high"] == [1.0] * 3
    assert task["action"]["safe"] == [0.0] * 3
    assert task["constraints_ttl_s"] == 60.0
    assert task["sim_state"] == {"signature": "mjSTATE_INTEGRATION", "size": 58}
    assert task["cost_terms"]["control"] == {"kind": "action_squared", "weight": 0.001}


@pytest.mark.parametrize("task_id", TASKS)
def test_every_observation_component_has_a_name_of_its_own(task_id: str, tmp_path: Path) -> None:
    observation = json.loads((export_task(task_id, tmp_path) / "task.json").read_text())["observation"]
    assert len(set(observation["names"])) == len(observation["names"]) == observation["shape"][0]
    assert observation["shape"] == [TASKS[task_id].observation_dim]


def test_exporting_an_unknown_task_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="unknown task"):
        export_task("guidance/Nothing-v0", tmp_path / "task")
    assert not (tmp_path / "task").exists()
