"""Another RL library trains on what we ship through the plain Gymnasium interfaces, SAC included."""

import gymnasium
import numpy as np
import pytest

import agents.tasks  # noqa: F401  registers the tasks
import meta_policy  # noqa: F401  registers the asking environments

pytestmark = pytest.mark.services


@pytest.fixture
def sb3():
    import stable_baselines3

    return stable_baselines3


@pytest.mark.filterwarnings("ignore")  # the library's own deprecations are not ours to fail on
def test_sac_trains_on_a_perturbed_task(sb3):
    env = gymnasium.make("guidance/PerturbedHopper-v0")
    model = sb3.SAC("MlpPolicy", env, learning_starts=50, buffer_size=1000, seed=1, device="cpu")
    before = {name: value.clone() for name, value in model.actor.state_dict().items()}
    model.learn(total_timesteps=120)
    assert any(not before[name].equal(value) for name, value in model.actor.state_dict().items())
    action, _ = model.predict(env.reset(seed=1)[0], deterministic=True)
    assert env.action_space.contains(action)


@pytest.mark.filterwarnings("ignore")
def test_a_foreign_ppo_trains_on_the_decision_to_ask(sb3):
    env = gymnasium.make("guidance/AskHopper-v0")
    model = sb3.PPO("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=2, seed=1, device="cpu")
    model.learn(total_timesteps=128)
    assert model.num_timesteps == 128
    assert np.isfinite(model.policy.optimizer.param_groups[0]["params"][0].detach().numpy()).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("task", ["guidance/PerturbedHopper-v0", "guidance/AskHopper-v0"])
def test_the_environments_pass_the_library_s_own_checker(task, sb3):
    from stable_baselines3.common.env_checker import check_env

    check_env(gymnasium.make(task).unwrapped, warn=False, skip_render_check=True)
