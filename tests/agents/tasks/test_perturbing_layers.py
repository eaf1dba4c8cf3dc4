from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from agents.tasks import Shift, make_task
from agents.tasks.action_noise import ActionNoise
from agents.tasks.kicks import VelocityKicks
from agents.tasks.model_shift import ModelShift
from agents.tasks.physics import make_physics

HOPPER = "guidance/PerturbedHopper-v0"


class Still(gymnasium.Env):
    """Keeps the actions it is given; `data.qvel` stays as it is put."""

    action_space = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def __init__(self) -> None:
        self.data = self
        self.qvel = np.zeros(6)
        self.executed: list[np.ndarray] = []

    def reset(self, *, seed=None, options=None):
        return np.zeros(1), {}

    def step(self, action):
        self.executed.append(np.array(action))
        return np.zeros(1), 0.0, False, False, {}


def test_one_step_in_a_hundred_begins_with_a_kick() -> None:
    env = VelocityKicks(Still(), std=0.6, probability=0.01)
    env.reset(seed=0)
    kicks = 0
    for _ in range(20_000):
        env.step(np.zeros(3))
        kicks += env.kicked
    assert 160 <= kicks <= 240  # 200 +- 2.8 standard deviations; the seed is fixed


def test_a_kick_has_the_stated_size_and_reaches_every_velocity() -> None:
    env = VelocityKicks(Still(), std=0.6, probability=1.0)
    env.reset(seed=0)
    jumps = []
    for _ in range(2000):
        before = env.unwrapped.qvel.copy()
        env.step(np.zeros(3))
        jumps.append(env.unwrapped.qvel - before)
    assert np.std(jumps, axis=0) == pytest.approx([0.6] * 6, rel=0.05)


def test_action_noise_has_the_stated_size() -> None:
    env = ActionNoise(Still(), std=0.05)
    env.reset(seed=0)
    for _ in range(4000):
        env.step(np.array([0.5, 0.0, -0.5], np.float32))
    executed = np.array(env.unwrapped.executed)
    assert executed.mean(axis=0) == pytest.approx([0.5, 0.0, -0.5], abs=0.005)
    assert executed.std(axis=0) == pytest.approx([0.05] * 3, rel=0.05)


def test_the_noisy_action_is_clipped_after_the_noise() -> None:
    env = ActionNoise(Still(), std=0.05)
    env.reset(seed=0)
    for _ in range(100):
        env.step(np.ones(3, np.float32))
    executed = np.array(env.unwrapped.executed)
    assert executed.max() == 1.0
    assert executed.min() < 1.0


def test_action_noise_leaves_the_callers_array_alone() -> None:
    env = ActionNoise(Still(), std=0.05)
    env.reset(seed=0)
    action = np.full(3, 0.25, np.float32)
    env.step(action)
    assert action.tolist() == [0.25] * 3


def test_layers_under_one_seed_draw_from_different_streams() -> None:
    task = make_task(HOPPER)
    task.reset(seed=7)
    draws = [layer.generator.random() for layer in task.layers] + [task.unwrapped.np_random.random()]
    assert len(set(draws)) == 3


def test_a_shift_changes_mass_friction_and_gain_anew_each_episode() -> None:
    shift = Shift(mass=(0.5, 1.5), friction=(0.5, 1.5), gain=(0.5, 1.5))
    env = ModelShift(make_physics("Hopper-v5"), shift)
    model = env.unwrapped.model
    stock = make_physics("Hopper-v5").model
    env.reset(seed=0)
    mass, friction, gain = first = env.factors.copy()
    assert model.body_mass == pytest.approx(stock.body_mass * mass)
    assert model.body_inertia == pytest.approx(stock.body_inertia * mass)
    assert model.geom_friction == pytest.approx(stock.geom_friction * friction)
    assert model.actuator_gear == pytest.approx(stock.actuator_gear * gain)
    env.reset()
    assert np.all(env.factors != first)
    assert model.body_mass == pytest.approx(stock.body_mass * env.factors[0])


def test_a_shift_of_one_leaves_the_physics_as_it_is() -> None:
    shifted, plain = make_task(HOPPER, perturb=False, shift=Shift()), make_task(HOPPER, perturb=False)
    shifted.reset(seed=0)
    plain.reset(seed=0)
    for _ in range(50):
        a, b = (task.step(np.full(3, 0.3, np.float32))[0] for task in (shifted, plain))
        assert a == pytest.approx(b, abs=1e-12)


@pytest.mark.parametrize("mass", [(0.0, 1.0), (1.5, 0.5), (-1.0, 1.0)])
def test_an_impossible_shift_is_refused(mass: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="mass must be 0 < low <= high"):
        Shift(mass=mass)
