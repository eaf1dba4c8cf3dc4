"""The stock v5 physics with every argument that matters written out; saving and restoring its state."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import mujoco
import numpy as np
from gymnasium.envs.mujoco import MujocoEnv
from gymnasium.envs.mujoco.ant_v5 import AntEnv
from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv
from gymnasium.envs.mujoco.hopper_v5 import HopperEnv
from gymnasium.envs.mujoco.walker2d_v5 import Walker2dEnv
from numpy.typing import NDArray

from agents.tasks.generator import load_generator, pack_generator

State = dict[str, np.ndarray]
INTEGRATION = mujoco.mjtState.mjSTATE_INTEGRATION

# Written out so that changed upstream defaults fail a test instead of changing a task under its old name.
ARGUMENTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "Hopper-v5": {
            "xml_file": "hopper.xml",
            "frame_skip": 4,
            "forward_reward_weight": 1.0,
            "ctrl_cost_weight": 1e-3,
            "healthy_reward": 1.0,
            "terminate_when_unhealthy": True,
            "healthy_state_range": (-100.0, 100.0),
            "healthy_z_range": (0.7, float("inf")),
            "healthy_angle_range": (-0.2, 0.2),
            "reset_noise_scale": 5e-3,
            "exclude_current_positions_from_observation": True,
        },
        "Walker2d-v5": {
            "xml_file": "walker2d_v5.xml",
            "frame_skip": 4,
            "forward_reward_weight": 1.0,
            "ctrl_cost_weight": 1e-3,
            "healthy_reward": 1.0,
            "terminate_when_unhealthy": True,
            "healthy_z_range": (0.8, 2.0),
            "healthy_angle_range": (-1.0, 1.0),
            "reset_noise_scale": 5e-3,
            "exclude_current_positions_from_observation": True,
        },
        "HalfCheetah-v5": {
            "xml_file": "half_cheetah.xml",
            "frame_skip": 5,
            "forward_reward_weight": 1.0,
            "ctrl_cost_weight": 0.1,
            "reset_noise_scale": 0.1,
            "exclude_current_positions_from_observation": True,
        },
        "Ant-v5": {
            "xml_file": "ant.xml",
            "frame_skip": 5,
            "forward_reward_weight": 1.0,
            "ctrl_cost_weight": 0.5,
            "contact_cost_weight": 5e-4,
            "healthy_reward": 1.0,
            "main_body": 1,
            "terminate_when_unhealthy": True,
            "healthy_z_range": (0.2, 1.0),
            "contact_force_range": (-1.0, 1.0),
            "reset_noise_scale": 0.1,
            "exclude_current_positions_from_observation": True,
            "include_cfrc_ext_in_observation": True,
        },
    }
)

_ENVIRONMENTS: Mapping[str, type[MujocoEnv]] = MappingProxyType(
    {"Hopper-v5": HopperEnv, "Walker2d-v5": Walker2dEnv, "HalfCheetah-v5": HalfCheetahEnv, "Ant-v5": AntEnv}
)


def make_physics(stock_id: str, **changes: Any) -> MujocoEnv:
    """The bare stock environment: no checker, no time limit; `changes` override `ARGUMENTS`.

    >>> round(make_physics("Hopper-v5").dt, 6)
    0.008
    """
    with without_total_mass_warning():
        return _ENVIRONMENTS[stock_id](**{**ARGUMENTS[stock_id], **changes})


def simulation_state(env: MujocoEnv) -> NDArray[np.float64]:
    """mjSTATE_INTEGRATION of `env`: what a planner needs to start a simulation where the agent stands."""
    state = np.empty(mujoco.mj_stateSize(env.model, INTEGRATION))
    mujoco.mj_getState(env.model, env.data, state, INTEGRATION)
    return state


def save_physics(env: MujocoEnv) -> State:
    """Simulation state, the generator of reset noise, and the two derived fields that the next step reads.

    Ant measures its speed from `xpos` and shows `cfrc_ext`; after a step both lag one substep behind qpos, so
    they cannot be recomputed from the simulation state and are kept.
    """
    return {
        "integration": simulation_state(env),
        "xpos": env.data.xpos.copy(),
        "cfrc_ext": env.data.cfrc_ext.copy(),
        "generator": pack_generator(env.np_random),
    }


def restore_physics(env: MujocoEnv, state: Mapping[str, np.ndarray]) -> NDArray[np.float64]:
    """Undo everything since `save_physics`; returns the observation of that moment."""
    mujoco.mj_setState(env.model, env.data, np.asarray(state["integration"], dtype=np.float64), INTEGRATION)
    mujoco.mj_forward(env.model, env.data)  # for what renderers read; leaves the simulation state as it is
    env.data.xpos[:] = state["xpos"]
    env.data.cfrc_ext[:] = state["cfrc_ext"]
    load_generator(env.np_random, state["generator"])
    return np.asarray(env._get_obs(), dtype=np.float64)  # type: ignore[attr-defined]


@contextlib.contextmanager
def without_total_mass_warning() -> Iterator[None]:
    """HalfCheetah's MJCF has a deprecated attribute; MuJoCo would complain on stderr and in a log file."""
    previous = mujoco.get_mju_user_warning()

    def pass_on(message: str) -> None:
        if "settotalmass" in message:
            return
        if previous is not None:
            previous(message)
        else:
            warnings.warn(f"MuJoCo: {message}", RuntimeWarning, stacklevel=2)

    mujoco.set_mju_user_warning(pass_on)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(previous)
