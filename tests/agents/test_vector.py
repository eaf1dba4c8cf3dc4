from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from agents.tasks import make_task
from agents.vector import ForeignVectorEnv, VectorEnv, VectorStep, episode_seed, from_gymnasium

HOPPER = "guidance/PerturbedHopper-v0"


class CountingEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """Observation [episode, step, last action]; reward 1 a step; ends after `length` steps."""

    def __init__(self, length: int, ends: str = "terminated") -> None:
        self.observation_space = Box(-np.inf, np.inf, (3,), np.float64)
        self.action_space = Box(-1.0, 1.0, (1,), np.float32)
        self.length = length
        self.ends = ends
        self.episode = -1
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        self.episode += 1
        self.steps = 0
        return np.array([self.episode, 0.0, 0.0]), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        over = self.steps >= self.length
        terminated = over and self.ends in ("terminated", "both")
        truncated = over and self.ends in ("truncated", "both")
        return np.array([self.episode, self.steps, float(action[0])]), 1.0, terminated, truncated, {}


def of_lengths(*lengths: int) -> Callable[[], CountingEnv]:
    remaining = iter(lengths)
    return lambda: CountingEnv(next(remaining))


def foreign(mode: AutoresetMode, *lengths: int) -> ForeignVectorEnv:
    return from_gymnasium(
        SyncVectorEnv([lambda n=n: CountingEnv(n) for n in lengths], autoreset_mode=mode), seed=0
    )


def run(vector: VectorEnv | ForeignVectorEnv, steps: int) -> tuple[np.ndarray, list[VectorStep]]:
    first = vector.reset()
    return first, [vector.step(np.zeros((vector.num_envs, 1))) for _ in range(steps)]


def transitions(vector: VectorEnv | ForeignVectorEnv, steps: int, env: int) -> list[tuple[Any, ...]]:
    """(observation, reward, next observation, terminated) of every valid step of sub-environment `env`."""
    observation, taken = run(vector, steps)
    found = []
    for step in taken:
        if step.valid[env]:
            row = (*observation[env], step.reward[env], *step.final_observation[env], step.terminated[env])
            found.append(row)
        observation = step.observation
    return found


def test_a_finished_environment_is_reset_within_the_step_that_ended_it() -> None:
    _, steps = run(VectorEnv(of_lengths(3, 5), 2, seed=0), 5)
    assert [step.terminated.tolist() for step in steps] == [
        [False, False],
        [False, False],
        [True, False],
        [False, False],
        [False, True],
    ]
    assert steps[2].final_observation[0].tolist() == [0, 3, 0]
    assert steps[2].observation[0].tolist() == [1, 0, 0]
    assert steps[2].observation[1].tolist() == steps[2].final_observation[1].tolist() == [0, 3, 0]


def test_return_and_length_include_the_last_step_and_start_anew() -> None:
    _, steps = run(VectorEnv(of_lengths(3, 5), 2, seed=0), 5)
    assert [step.episode_return[0] for step in steps] == [1, 2, 3, 1, 2]
    assert [step.episode_length[1] for step in steps] == [1, 2, 3, 4, 5]


def test_our_layer_has_no_reset_steps_to_mask() -> None:
    vector = VectorEnv(of_lengths(3, 5), 2, seed=0)
    _, steps = run(vector, 20)
    assert all(step.valid.all() for step in steps)
    assert not vector.reset_step_next.any()


def test_no_transition_crosses_episodes() -> None:
    for env in (0, 1):
        rows = transitions(VectorEnv(of_lengths(3, 5), 2, seed=0), 20, env)
        assert len(rows) == 20
        assert all(row[0] == row[4] and row[5] == row[1] + 1 for row in rows)


@pytest.mark.parametrize(
    ("ends", "terminated", "truncated"),
    [("terminated", True, False), ("truncated", False, True), ("both", True, False)],
)
def test_terminated_and_truncated_counts_as_terminated(ends: str, terminated: bool, truncated: bool) -> None:
    _, steps = run(VectorEnv(lambda: CountingEnv(1, ends), 1, seed=0), 1)
    assert (bool(steps[0].terminated[0]), bool(steps[0].truncated[0])) == (terminated, truncated)
    assert steps[0].done.tolist() == [True]


def test_actions_are_clipped_to_the_box() -> None:
    vector = VectorEnv(lambda: CountingEnv(9), 2, seed=0)
    vector.reset()
    step = vector.step(np.array([[7.0], [-0.25]]))
    assert step.observation[:, 2].tolist() == [1.0, -0.25]


def test_a_non_finite_action_names_row_and_index() -> None:
    vector = VectorEnv(lambda: CountingEnv(9), 2, seed=0)
    vector.reset()
    with pytest.raises(ValueError, match=r"action\[1, 0\] is nan"):
        vector.step(np.array([[0.0], [np.nan]]))


def test_returned_arrays_do_not_change_later() -> None:
    vector = VectorEnv(of_lengths(3, 5), 2, seed=0)
    first = vector.reset()
    step = vector.step(np.zeros((2, 1)))
    kept = [first.copy(), step.observation.copy(), step.episode_return.copy(), step.final_observation.copy()]
    for _ in range(4):
        vector.step(np.ones((2, 1)))
    now = [first, step.observation, step.episode_return, step.final_observation]
    assert all((a == b).all() for a, b in zip(kept, now, strict=True))


def test_next_step_mode_masks_five_reset_steps_of_twenty_for_length_three_and_three_for_length_five() -> None:
    vector = foreign(AutoresetMode.NEXT_STEP, 3, 5)
    _, steps = run(vector, 20)
    masked = ~np.array([step.valid for step in steps])
    assert masked.sum(axis=0).tolist() == [5, 3]
    assert np.flatnonzero(masked[:, 0]).tolist() == [3, 7, 11, 15, 19]
    assert np.flatnonzero(masked[:, 1]).tolist() == [5, 11, 17]


def test_next_step_mode_announces_the_reset_step_before_it_comes() -> None:
    vector = foreign(AutoresetMode.NEXT_STEP, 3, 5)
    vector.reset()
    announced, seen = [], []
    for _ in range(20):
        announced.append(vector.reset_step_next)
        seen.append(~vector.step(np.zeros((2, 1))).valid)
    assert np.array_equal(announced, seen)


def test_a_masked_step_counts_for_no_episode() -> None:
    _, steps = run(foreign(AutoresetMode.NEXT_STEP, 3, 5), 5)
    assert [step.episode_return[0] for step in steps] == [1, 2, 3, 0, 1]
    assert [step.episode_length[0] for step in steps] == [1, 2, 3, 0, 1]


@pytest.mark.parametrize("env", [0, 1])
def test_all_modes_give_the_same_valid_transitions(env: int) -> None:
    own = transitions(VectorEnv(of_lengths(3, 5), 2, seed=0), 40, env)
    same = transitions(foreign(AutoresetMode.SAME_STEP, 3, 5), 40, env)
    following = transitions(foreign(AutoresetMode.NEXT_STEP, 3, 5), 40, env)
    assert same == own
    assert following == own[: len(following)]
    assert len(following) == 40 - (10, 6)[env]


def test_disabled_autoreset_is_refused() -> None:
    with pytest.raises(ValueError, match="DISABLED is refused"):
        foreign(AutoresetMode.DISABLED, 3, 5)


def test_an_undeclared_autoreset_mode_is_refused() -> None:
    vector = SyncVectorEnv([lambda: CountingEnv(3)])
    vector.metadata.pop("autoreset_mode")
    with pytest.raises(ValueError, match="must be an AutoresetMode"):
        from_gymnasium(vector)


def test_a_foreign_vector_refuses_to_be_saved() -> None:
    with pytest.raises(TypeError, match="foreign vector environment"):
        foreign(AutoresetMode.SAME_STEP, 3).get_state()


def test_spaces_other_than_flat_boxes_are_refused() -> None:
    with pytest.raises(ValueError, match="action space must be a one-dimensional Box"):
        VectorEnv(lambda: gymnasium.make("CartPole-v1"), 1, seed=0)


def test_neighbouring_runs_share_no_first_observation() -> None:
    first = {seed: VectorEnv(lambda: make_task(HOPPER), 4, seed=seed).reset() for seed in (0, 1)}
    rows = {row.tobytes() for seed in (0, 1) for row in first[seed]}
    assert len(rows) == 8
    assert np.array_equal(first[0], VectorEnv(lambda: make_task(HOPPER), 4, seed=0).reset())


def test_seeds_of_runs_environments_and_episodes_are_all_distinct() -> None:
    seeds = {episode_seed(run, env, episode) for run in range(4) for env in range(8) for episode in range(50)}
    assert len(seeds) == 4 * 8 * 50


def test_the_second_episode_of_an_environment_differs_from_the_first() -> None:
    vector = VectorEnv(lambda: make_task(HOPPER), 1, seed=0)
    assert not np.array_equal(vector.reset(), vector.reset())


def test_a_restored_vector_goes_on_bit_for_bit_over_episode_ends() -> None:
    actions = np.random.default_rng(0).uniform(-1, 1, (250, 2, 3))
    vector = VectorEnv(lambda: make_task(HOPPER), 2, seed=3)
    vector.reset()
    for action in actions[:50]:
        vector.step(action)
    saved = vector.get_state()
    expected = [vector.step(action) for action in actions[50:]]
    other = VectorEnv(lambda: make_task(HOPPER), 2, seed=99)
    other.set_state(saved)
    got = [other.step(action) for action in actions[50:]]
    assert sum(int(step.done.sum()) for step in expected) >= 2
    for a, b in zip(expected, got, strict=True):
        for name in VectorStep.__slots__:
            assert np.array_equal(getattr(a, name), getattr(b, name)), name


def test_saved_state_holds_numeric_arrays_only() -> None:
    vector = VectorEnv(lambda: make_task(HOPPER), 2, seed=3)
    vector.reset()
    assert all(isinstance(v, np.ndarray) and v.dtype.kind in "fiu" for v in vector.get_state().values())


def test_a_state_of_another_size_is_refused() -> None:
    vector = VectorEnv(lambda: make_task(HOPPER), 2, seed=3)
    vector.reset()
    with pytest.raises(ValueError, match="a state of 2 environments does not fit 3"):
        VectorEnv(lambda: make_task(HOPPER), 3, seed=3).set_state(vector.get_state())


def test_an_environment_that_cannot_be_saved_is_named() -> None:
    vector = VectorEnv(lambda: CountingEnv(3), 1, seed=0)
    vector.reset()
    with pytest.raises(TypeError, match=r"CountingEnv.*has no get_state"):
        vector.get_state()


def test_step_before_reset_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="step before reset"):
        VectorEnv(lambda: CountingEnv(3), 1, seed=0).step(np.zeros((1, 1)))
