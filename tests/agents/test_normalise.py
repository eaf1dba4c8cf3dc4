from __future__ import annotations

import numpy as np
import pytest

from agents.normalise import ReturnScaler, RunningNorm


def test_three_numbers_by_hand() -> None:
    norm = RunningNorm((1,))
    norm.update([[1.0], [2.0], [6.0]])
    assert norm.mean.tolist() == [3.0]
    assert norm.var.tolist() == [pytest.approx(14 / 3)]
    assert norm.normalise([3.0 + (14 / 3) ** 0.5]) == pytest.approx([1.0])


def test_batches_of_any_size_give_the_statistics_of_the_whole() -> None:
    data = np.random.default_rng(0).normal(1e6, 3.0, (500, 4))
    norm = RunningNorm((4,))
    for part in np.split(data, [1, 3, 100, 101, 350]):
        norm.update(part)
    assert norm.count == 500
    np.testing.assert_allclose(norm.mean, data.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(norm.var, data.var(axis=0), rtol=1e-9)


def test_leading_axes_are_flattened() -> None:
    norm = RunningNorm((2,))
    norm.update(np.arange(24.0).reshape(3, 4, 2))
    assert norm.count == 12


def test_before_any_update_normalising_changes_nothing_but_the_clip() -> None:
    assert RunningNorm((2,)).normalise([0.5, 99.0]) == pytest.approx([0.5, 10.0], rel=1e-7)


def test_a_component_that_never_moved_maps_to_zero() -> None:
    norm = RunningNorm((1,))
    norm.update(np.full((10, 1), 7.0))
    assert norm.normalise([7.0]).tolist() == [0.0]
    assert norm.normalise([8.0]).tolist() == [10.0]


def test_normalising_leaves_input_and_statistics_alone() -> None:
    norm = RunningNorm((2,))
    norm.update([[1.0, 2.0], [3.0, 5.0]])
    before, x = norm.state_dict(), np.array([[9.0, 9.0]])
    norm.normalise(x)
    assert x.tolist() == [[9.0, 9.0]]
    assert all(np.array_equal(before[key], value) for key, value in norm.state_dict().items())


def test_the_version_rises_with_every_update_and_only_then() -> None:
    norm = RunningNorm((1,))
    norm.update([[1.0]])
    norm.update([[2.0], [3.0]])
    norm.update(np.zeros((0, 1)))
    norm.normalise([1.0])
    assert norm.version == 2


def test_frozen_statistics_refuse_an_update() -> None:
    norm = RunningNorm((1,))
    norm.freeze()
    with pytest.raises(RuntimeError, match="frozen"):
        norm.update([[1.0]])
    norm.unfreeze()
    norm.update([[1.0]])
    assert norm.count == 1


def test_a_non_finite_value_is_refused_and_spoils_nothing() -> None:
    norm = RunningNorm((1,))
    with pytest.raises(ValueError, match="non-finite"):
        norm.update([[1.0], [np.nan]])
    assert norm.count == 0


def test_a_wrong_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="does not end in"):
        RunningNorm((3,)).update(np.zeros((5, 2)))


def test_restored_statistics_go_on_bit_for_bit() -> None:
    data = np.random.default_rng(1).normal(size=(60, 3))
    norm, other = RunningNorm((3,)), RunningNorm((3,))
    norm.update(data[:20])
    other.load_state_dict(norm.state_dict())
    for statistics in (norm, other):
        statistics.update(data[20:])
    assert other.normalise(data).tobytes() == norm.normalise(data).tobytes()
    assert other.version == norm.version == 2


def test_statistics_that_lack_a_part_or_fit_another_shape_are_refused() -> None:
    state = RunningNorm((3,)).state_dict()
    with pytest.raises(ValueError, match="shape"):
        RunningNorm((2,)).load_state_dict(state)
    del state["m2"]
    with pytest.raises(KeyError, match="m2"):
        RunningNorm((3,)).load_state_dict(state)


def test_the_return_is_discounted_and_restarts_after_an_end() -> None:
    scaler = ReturnScaler(gamma=0.5, num_envs=2)
    seen = []
    for reward, done in [([1, 1], [0, 0]), ([1, 1], [1, 0]), ([1, 1], [0, 0])]:
        scaler.update(reward, done)
        seen.append(scaler.accumulated.tolist())
    assert seen == [[1.0, 1.0], [0.0, 1.5], [1.0, 1.75]]
    # returns that entered the statistics: 1, 1, 1.5, 1.5, 1, 1.75
    assert scaler.std == pytest.approx(np.std([1, 1, 1.5, 1.5, 1, 1.75]))
    assert scaler.scale([2.0]) == pytest.approx([2.0 / np.std([1, 1, 1.5, 1.5, 1, 1.75])])


def test_masked_reset_steps_enter_neither_return_nor_statistics() -> None:
    scaler = ReturnScaler(gamma=0.5, num_envs=2)
    scaler.update([1.0, 1.0], [True, False])
    scaler.update([0.0, 1.0], [False, False], valid=[False, True])
    assert scaler.norm.count == 3
    assert scaler.accumulated.tolist() == [0.0, 1.5]


def test_scaled_rewards_do_not_depend_on_the_unit_of_the_reward() -> None:
    rewards = np.random.default_rng(2).normal(1.0, 1.0, (300, 4))
    scaled = []
    for unit in (1.0, 10.0):
        scaler = ReturnScaler(gamma=0.99, num_envs=4)
        for row in rewards:
            scaler.update(unit * row, np.zeros(4))
        scaled.append(scaler.scale(unit * rewards))
    np.testing.assert_allclose(scaled[0], scaled[1], rtol=1e-6)


def test_a_scaled_reward_keeps_its_sign_and_is_clipped() -> None:
    scaler = ReturnScaler(gamma=0.0, num_envs=2)
    scaler.update([1.0, 3.0], [0, 0])
    assert scaler.scale([-1.0, 0.0, 1e6]) == pytest.approx([-1.0, 0.0, 10.0])


def test_a_restored_scaler_goes_on_bit_for_bit() -> None:
    rewards = np.random.default_rng(3).normal(size=(50, 2))
    scaler, other = ReturnScaler(0.97, 2), ReturnScaler(0.97, 2)
    for row in rewards[:20]:
        scaler.update(row, row > 1)
    other.load_state_dict(scaler.state_dict())
    for row in rewards[20:]:
        scaler.update(row, row > 1)
        other.update(row, row > 1)
    assert other.scale(rewards).tobytes() == scaler.scale(rewards).tobytes()


def test_a_scaler_state_with_another_gamma_is_refused() -> None:
    with pytest.raises(ValueError, match="gamma"):
        ReturnScaler(0.9, 2).load_state_dict(ReturnScaler(0.99, 2).state_dict())


def test_a_frozen_scaler_refuses_an_update_and_keeps_its_accumulators() -> None:
    scaler = ReturnScaler(0.9, 1)
    scaler.freeze()
    with pytest.raises(RuntimeError, match="frozen"):
        scaler.update([1.0], [False])
    assert scaler.accumulated.tolist() == [0.0]
