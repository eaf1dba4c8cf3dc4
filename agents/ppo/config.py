"""What a PPO run can be told, checked when it is made."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class PPOConfig:
    """Defaults are the usual ones for MuJoCo (Huang et al. 2022, "The 37 implementation details of PPO").

    `total_steps` is the horizon of the schedules, in environment steps over all lanes. Guided steps of known
    density teach the policy up to `divergence_cap`; at 0.22 two thirds of them already start outside `clip`.
    """

    total_steps: int = 1_000_000
    envs: int = 8
    rollout_steps: int = 256
    epochs: int = 10
    minibatch: int = 64
    gamma: float = 0.99
    gae_lambda: float = 0.95
    learning_rate: float = 3e-4
    anneal: bool = True
    adam_eps: float = 1e-5
    clip: float = 0.2
    entropy_coef: float = 0.0
    value_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float | None = None
    hidden: tuple[int, ...] = (64, 64)
    log_std_init: float = 0.0
    members: int = 5
    prior_scale: float = 0.3
    bootstrap_share: float = 0.8
    guidance_weight: float = 0.0
    guidance_weight_end: float = 0.0
    guidance_weight_steps: int = 1
    divergence_cap: float = 0.04

    def __post_init__(self) -> None:
        faults = list(_faults(self))
        if faults:
            raise ValueError("PPO configuration: " + "; ".join(faults))

    @property
    def batch(self) -> int:
        """Environment steps between two updates."""
        return self.envs * self.rollout_steps

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "hidden": list(self.hidden)}

    @staticmethod
    def from_json(values: dict[str, Any]) -> PPOConfig:
        unknown = sorted(set(values) - {f.name for f in fields(PPOConfig)})
        if unknown:
            raise ValueError(f"PPO configuration: unknown {', '.join(unknown)}")
        return PPOConfig(**{**values, "hidden": tuple(values["hidden"])} if "hidden" in values else values)


def _faults(c: PPOConfig) -> list[str]:
    positive = ("total_steps", "envs", "rollout_steps", "epochs", "minibatch", "learning_rate", "adam_eps")
    positive += ("clip", "max_grad_norm", "members", "guidance_weight_steps")
    faults = [
        f"{name} must be positive, got {getattr(c, name)}" for name in positive if not getattr(c, name) > 0
    ]
    shares = ("gamma", "gae_lambda", "bootstrap_share")
    faults += [
        f"{name} must lie in [0, 1], got {getattr(c, name)}"
        for name in shares
        if not 0 <= getattr(c, name) <= 1
    ]
    not_negative = ("entropy_coef", "value_coef", "prior_scale", "guidance_weight", "guidance_weight_end")
    not_negative += ("divergence_cap",)
    faults += [
        f"{name} must not be negative, got {getattr(c, name)}"
        for name in not_negative
        if getattr(c, name) < 0
    ]
    if c.bootstrap_share == 0:
        faults.append("bootstrap_share 0 would train no critic")
    if not c.hidden or min(c.hidden) < 1:
        faults.append(f"hidden needs positive sizes, got {c.hidden}")
    if c.target_kl is not None and c.target_kl <= 0:
        faults.append(f"target_kl must be positive or absent, got {c.target_kl}")
    return faults


PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {"total_steps": 20_480, "envs": 4, "rollout_steps": 128},
    "100k": {"total_steps": 100_000},
    "1m": {"total_steps": 1_000_000},
    "1.5m": {"total_steps": 1_500_000},
    "3m": {"total_steps": 3_000_000},
}

BUDGETS = {
    "Hopper-v5": "1m",
    "Walker2d-v5": "1m",
    "HalfCheetah-v5": "1m",
    "Ant-v5": "3m",
    "guidance/PerturbedHopper-v0": "1.5m",
    "guidance/PerturbedWalker2d-v0": "1.5m",
    "guidance/PerturbedHalfCheetah-v0": "1.5m",
    "guidance/PerturbedAnt-v0": "3m",
}


def preset_of(task: str) -> str:
    """The preset a task is trained with unless another is named: its usual budget, "1m" for the rest."""
    return BUDGETS.get(task, "1m")


def preset(name: str, **overrides: Any) -> PPOConfig:
    """A named budget with overrides; an unknown name lists the known ones."""
    if name not in PRESETS:
        raise ValueError(f"no preset {name!r}; there are {', '.join(PRESETS)}")
    return replace(PPOConfig(**PRESETS[name]), **overrides)


def require_ensemble(config: PPOConfig, used_by: str) -> None:
    """Refuse a single critic where uncertainty is read: one member never disagrees with itself."""
    if config.members < 2:
        raise ValueError(f"{used_by} reads value uncertainty, which needs members >= 2, got {config.members}")
