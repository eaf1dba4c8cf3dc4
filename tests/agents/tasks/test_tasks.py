from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest

import agents.tasks
from agents.tasks import TASKS, TaskInfo, make_task, task_info
from agents.tasks.perturbations import PERTURBATIONS
from agents.tasks.physics import ARGUMENTS, without_total_mass_warning

HOPPER = "guidance/PerturbedHopper-v0"


def stock_environment(info: TaskInfo) -> gymnasium.Env:
    with without_total_mass_warning():
        return gymnasium.make(info.stock_id).unwrapped


def random_actions(info: TaskInfo, steps: int, scale: float = 1.0) -> np.ndarray:
    generator = np.random.default_rng(0)
    return generator.uniform(-scale, scale, (steps, info.action_dim)).astype(np.float32)


@pytest.mark.parametrize("task_id", TASKS)
def test_without_perturbation_a_task_is_the_stock_environment_step_for_step(task_id: str) -> None:
    info = TASKS[task_id]
    plain, stock = make_task(task_id, perturb=False), stock_environment(info)
    assert np.array_equal(plain.reset(seed=5)[0], stock.reset(seed=5)[0])
    for action in random_actions(info, 150):
        a, b = plain.step(action), stock.step(action)
        assert np.array_equal(a[0], b[0])
        assert a[1:3] == b[1:3]


@pytest.mark.parametrize("task_id", TASKS)
def test_every_stock_argument_is_written_out_and_equals_upstreams_default(task_id: str) -> None:
    stock = TASKS[task_id].stock_id
    env = stock_environment(TASKS[task_id])
    for name, value in ARGUMENTS[stock].items():
        if name == "xml_file":
            assert env.fullpath.endswith(value)
        elif name == "frame_skip":
            assert env.frame_skip == value
        elif name != "include_cfrc_ext_in_observation":
            assert getattr(env, f"_{name}") == value, name


@pytest.mark.parametrize("task_id", TASKS)
def test_the_table_says_what_the_model_has(task_id: str) -> None:
    info, task = TASKS[task_id], make_task(task_id)
    model = task.unwrapped.model
    names = [
        model.actuator(k).name or model.joint(model.actuator_trnid[k, 0]).name for k in range(info.action_dim)
    ]
    assert list(info.action_names) == names
    assert info.period_us == round(task.unwrapped.dt * 1e6)
    assert task.observation_space.shape == (info.observation_dim,)
    assert task.action_space.low.tolist() == list(info.action_low)
    assert task.action_space.high.tolist() == list(info.action_high)


def test_control_periods() -> None:
    assert [info.period_us for info in TASKS.values()] == [8_000, 8_000, 50_000, 50_000]


def test_an_unknown_task_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="PerturbedHopper-v0"):
        task_info("guidance/PerturbedHumanoid-v0")


def test_the_sizes_of_perturbed_hopper() -> None:
    sizes = PERTURBATIONS[HOPPER]
    assert (sizes.reset_noise, sizes.action_noise_std) == (0.02, 0.05)
    assert (sizes.kick_std, sizes.kick_probability) == (0.6, 0.01)


@pytest.mark.parametrize("task_id", TASKS)
def test_gymnasium_makes_the_bare_task_without_checkers_or_a_second_time_limit(task_id: str) -> None:
    task = gymnasium.make(task_id)
    assert type(task).__name__ == "Task"
    assert task.unwrapped.spec.max_episode_steps is None
    assert gymnasium.make(task_id, perturb=False).layers == ()


@pytest.mark.parametrize("task_id", TASKS)
def test_the_same_seed_gives_the_same_episode_and_another_seed_another(task_id: str) -> None:
    info = TASKS[task_id]

    def episode(seed: int) -> bytes:
        task = make_task(task_id)
        rows = [task.reset(seed=seed)[0]]
        rows += [task.step(action)[0] for action in random_actions(info, 60)]
        return np.array(rows).tobytes()

    assert episode(1) == episode(1) != episode(2)


def test_a_reset_without_seed_goes_on_with_the_generators() -> None:
    task = make_task(HOPPER)
    first = task.reset(seed=1)[0]
    second = task.reset()[0]
    assert not np.array_equal(first, second)
    assert np.array_equal(task.reset(seed=1)[0], first)
    assert np.array_equal(task.reset()[0], second)


def test_an_episode_is_truncated_after_a_thousand_steps() -> None:
    task = make_task("guidance/PerturbedHalfCheetah-v0")
    task.reset(seed=0)
    ends = [task.step(np.zeros(6, np.float32))[2:4] for _ in range(1000)]
    assert ends[:-1] == [(False, False)] * 999
    assert ends[-1] == (False, True)
    task.reset()
    assert task.step(np.zeros(6, np.float32))[2:4] == (False, False)


def run_half_cheetah(folder: Path) -> subprocess.CompletedProcess[str]:
    code = "from agents.tasks import make_task; make_task('guidance/PerturbedHalfCheetah-v0')"
    environment = os.environ | {"PYTHONPATH": str(Path(agents.tasks.__file__).parents[2])}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )


def test_building_half_cheetah_writes_nothing_to_the_terminal_or_the_folder(tmp_path: Path) -> None:
    done = run_half_cheetah(tmp_path)
    assert (done.stdout, done.stderr) == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_a_handler_of_mujoco_warnings_is_put_back() -> None:
    handler = print
    mujoco.set_mju_user_warning(handler)
    try:
        make_task("guidance/PerturbedHalfCheetah-v0")
        assert mujoco.get_mju_user_warning() is handler
    finally:
        mujoco.set_mju_user_warning(None)


def test_other_mujoco_warnings_come_through() -> None:
    seen: list[str] = []
    mujoco.set_mju_user_warning(seen.append)
    try:
        with without_total_mass_warning():
            mujoco.get_mju_user_warning()("something else")
            mujoco.get_mju_user_warning()("attribute 'settotalmass' is deprecated")
    finally:
        mujoco.set_mju_user_warning(None)
    assert seen == ["something else"]
