from __future__ import annotations

import numpy as np
import pytest

from agents.tasks import TASKS, Shift, Task, make_task
from agents.tasks.generator import layer_generator, load_generator, pack_generator

HOPPER = "guidance/PerturbedHopper-v0"
SHIFT = Shift(mass=(0.7, 1.3), friction=(0.7, 1.3), gain=(0.7, 1.3))


def play(task: Task, actions: np.ndarray) -> list[tuple[bytes, float, bool, bool]]:
    """Observation, reward and ends of every step; goes on through episode ends with an unseeded reset."""
    rows = []
    for action in actions:
        observation, reward, terminated, truncated, _ = task.step(action)
        rows.append((observation.tobytes(), float(reward), bool(terminated), bool(truncated)))
        if terminated or truncated:
            rows.append((task.reset()[0].tobytes(), 0.0, False, False))
    return rows


def actions_for(task: Task, steps: int, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(0).uniform(-scale, scale, (steps, task.info.action_dim)).astype(np.float32)


@pytest.mark.parametrize("task_id", TASKS)
@pytest.mark.parametrize("shift", [None, SHIFT])
def test_a_restored_task_repeats_two_hundred_steps_bit_for_bit(task_id: str, shift: Shift | None) -> None:
    task = make_task(task_id, shift=shift)
    task.reset(seed=11)
    actions = actions_for(task, 213)
    play(task, actions[:13])
    saved = task.get_state()
    expected = play(task, actions[13:])
    task.set_state(saved)
    assert play(task, actions[13:]) == expected
    other = make_task(task_id, shift=shift)
    other.reset(seed=99)
    play(other, actions[:5])
    other.set_state(saved)
    assert play(other, actions[13:]) == expected


@pytest.mark.parametrize("task_id", TASKS)
def test_a_never_reset_task_can_be_restored(task_id: str) -> None:
    task = make_task(task_id)
    task.reset(seed=11)
    saved = task.get_state()
    actions = actions_for(task, 5)
    expected = play(task, actions)
    other = make_task(task_id)
    other.set_state(saved)
    assert play(other, actions) == expected


@pytest.mark.parametrize("task_id", TASKS)
def test_restoring_gives_back_the_observation_of_that_moment(task_id: str) -> None:
    task = make_task(task_id)
    task.reset(seed=2)
    for action in actions_for(task, 7, scale=0.1):
        observation = task.step(action)[0]
    saved = task.get_state()
    play(task, actions_for(task, 20))
    assert np.array_equal(task.set_state(saved), observation)


def test_saving_changes_nothing() -> None:
    runs = []
    for save in (False, True):
        task = make_task("guidance/PerturbedAnt-v0")
        task.reset(seed=3)
        actions = actions_for(task, 40)
        rows = []
        for action in actions:
            if save:
                task.get_state()
            rows += play(task, action[None])
        runs.append(rows)
    assert runs[0] == runs[1]


def test_a_saved_state_does_not_change_with_the_task() -> None:
    task = make_task(HOPPER, shift=SHIFT)
    task.reset(seed=3)
    saved = task.get_state()
    copy = {key: value.copy() for key, value in saved.items()}
    play(task, actions_for(task, 60))
    assert all(np.array_equal(saved[key], copy[key]) for key in copy)


def test_the_time_limit_counts_on_from_the_saved_step() -> None:
    task = make_task("guidance/PerturbedHalfCheetah-v0")
    task.reset(seed=0)
    task.elapsed = 998
    saved = task.get_state()
    task.reset()
    task.set_state(saved)
    ends = [task.step(np.zeros(6, np.float32))[3] for _ in range(2)]
    assert ends == [False, True]


def test_reseeding_the_noise_changes_the_future_and_nothing_else() -> None:
    task = make_task(HOPPER, shift=SHIFT)
    task.reset(seed=5)
    saved = task.get_state()
    actions = np.zeros((15, 3), np.float32)
    futures = []
    for seed in (None, 1, 2, 1):
        task.set_state(saved)
        if seed is not None:
            task.reseed_noise(seed)
        now = task.get_state()
        changed = {key for key in saved if not np.array_equal(saved[key], now[key])}
        assert changed == (set() if seed is None else {"action_noise/generator", "kicks/generator"})
        futures.append(play(task, actions))
    unseeded, one, two, one_again = futures
    assert one == one_again
    assert unseeded != one != two != unseeded


def test_noise_reseeded_with_the_seed_of_the_reset_is_still_fresh() -> None:
    task = make_task(HOPPER)
    task.reset(seed=5)
    before = [layer.generator.random() for layer in task.layers]
    task.reseed_noise(5)
    assert before != [layer.generator.random() for layer in task.layers]


def test_a_state_of_another_kind_of_task_is_refused() -> None:
    perturbed, plain = make_task(HOPPER), make_task(HOPPER, perturb=False)
    for task in (perturbed, plain):
        task.reset(seed=0)
    with pytest.raises(ValueError, match=r"another kind of task.*action_noise.*kicks"):
        plain.set_state(perturbed.get_state())
    with pytest.raises(KeyError):
        perturbed.set_state(plain.get_state())


def test_the_simulation_state_is_what_a_planner_restores() -> None:
    task = make_task(HOPPER)
    task.reset(seed=0)
    task.step(np.ones(3, np.float32))
    state = task.simulation_state()
    assert state.shape == (58,)
    assert np.array_equal(state, task.get_state()["physics/integration"])


def test_a_generator_survives_packing_with_half_a_draw_pending() -> None:
    generator = layer_generator(3, stream=1)
    generator.integers(0, 10, dtype=np.uint32)
    copy = layer_generator(4, stream=1)
    load_generator(copy, pack_generator(generator))
    assert (
        generator.integers(0, 2**31, 9, np.uint32).tolist() == copy.integers(0, 2**31, 9, np.uint32).tolist()
    )
    assert np.array_equal(generator.standard_normal(9), copy.standard_normal(9))


def test_only_pcg64_is_packed() -> None:
    with pytest.raises(ValueError, match="only PCG64"):
        pack_generator(np.random.Generator(np.random.MT19937(0)))
