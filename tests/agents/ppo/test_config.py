"""What a PPO run can be told, and what it refuses."""

from __future__ import annotations

import pytest

from agents.ppo.config import BUDGETS, PPOConfig, preset, preset_of
from agents.tasks import TASKS


def test_every_fault_is_named_at_once() -> None:
    with pytest.raises(
        ValueError, match=r"clip must be positive, got 0.*gamma must lie in \[0, 1\]"
    ) as caught:
        PPOConfig(gamma=2.0, clip=0.0, hidden=(), bootstrap_share=0.0, target_kl=-1.0, divergence_cap=-1.0)
    for name in ("hidden", "bootstrap_share", "target_kl", "divergence_cap"):
        assert name in str(caught.value)


def test_a_configuration_survives_json_and_old_ones_get_today_s_defaults() -> None:
    config = PPOConfig(hidden=(32,), target_kl=0.02)
    assert PPOConfig.from_json(config.to_json()) == config
    older = {key: value for key, value in config.to_json().items() if key != "divergence_cap"}
    assert PPOConfig.from_json(older) == config
    with pytest.raises(ValueError, match="unknown clipp"):
        PPOConfig.from_json({"clipp": 0.1})


def test_every_task_has_a_preset_and_an_unknown_one_lists_the_known() -> None:
    for info in TASKS.values():
        assert preset(BUDGETS[info.task_id]).total_steps >= preset(BUDGETS[info.stock_id]).total_steps
    assert preset_of("guidance/PerturbedHopper-v0") == "1.5m"
    assert preset_of("elsewhere") == "1m"
    assert preset("100k", envs=2) == PPOConfig(total_steps=100_000, envs=2)
    with pytest.raises(ValueError, match="no preset 'x'; there are smoke"):
        preset("x")
