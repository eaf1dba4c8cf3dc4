from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import meta_policy  # noqa: F401 (registers the environments)
from meta_policy.environment import AskEnv
from tests.meta_policy.worlds import executor


@pytest.fixture
def env(tmp_path):
    for strength in ("weak", "medium", "strong"):
        executor(11, 3, seed=len(strength)).save(tmp_path / f"{strength}.safetensors")
    made = AskEnv("PerturbedHopper", executors=tmp_path)
    yield made
    made.close()


def test_it_is_known_to_gymnasium_by_its_id():
    assert gymnasium.spec("guidance/AskHopper-v0").entry_point == "meta_policy.environment:AskEnv"


def test_the_same_seed_gives_the_same_episode(env):
    runs = []
    for _ in range(2):
        observation, _ = env.reset(seed=5)
        steps = [env.step(0) for _ in range(3)]
        runs.append([observation, *(s[0] for s in steps)])
    np.testing.assert_array_equal(np.array(runs[0]), np.array(runs[1]))


def test_an_env_step_lasts_until_the_next_decision(env):
    env.reset(seed=1)
    move = env.loop.moves.ask("strong", 5)
    *_, info = env.step(move)
    assert info["steps"] == 5
    assert info["discount"] == pytest.approx(env.preset.gamma**5)


def test_the_mask_says_what_may_be_done(env):
    _, info = env.reset(seed=1)
    assert info["action_mask"].tolist() == [1, 0, *[1] * 12]
    assert (env.action_masks() == info["action_mask"]).all()


def test_an_illegal_action_is_played_as_alone_and_marked(env):
    env.reset(seed=1)
    *_, info = env.step(1)
    assert info["illegal"]
    assert info["steps"] == 1


def test_beta_can_be_given_and_makes_guidance_dearer(env):
    move, rewards = None, []
    for beta in (0.0, 5.0):
        env.reset(seed=1, options={"beta": beta})
        move = env.loop.moves.ask("strong", 1)
        rewards.append(env.step(move)[1])
    preset = env.preset
    assert rewards[0] - rewards[1] == pytest.approx(5.0 * (preset.rate * 0.001 + preset.reliance))


def test_an_episode_ends(env):
    env.reset(seed=2)
    for _ in range(1000):
        _, _, terminated, truncated, _ = env.step(0)
        if terminated or truncated:
            return
    pytest.fail("a thousand steps and no end")
