"""What the training of a head can be told, checked when it is made."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class HeadConfig:
    """`total_steps` are control steps over all lanes. Jitters are the largest factor by which a source's
    latency or price is multiplied or divided; they are redrawn for every rollout."""

    total_steps: int = 1_300_000
    lanes: int = 32
    rollout_steps: int = 64
    epochs: int = 10
    minibatch: int = 256
    gae_lambda: float = 0.95
    learning_rate: float = 1e-3
    entropy_coef: float = 0.002
    clip: float = 0.2
    max_grad_norm: float = 0.5
    hidden: tuple[int, ...] = (64, 64)
    alone_bias: float = 2.5  # of the untrained head, against leases of five steps from the dearest source
    beta_ramp: float = 0.25  # share of the training over which beta grows to its full range
    latency_jitter: float = 2.0
    price_jitter: float = 1.2

    def __post_init__(self) -> None:
        positive = ("total_steps", "lanes", "rollout_steps", "epochs", "minibatch", "learning_rate", "clip")
        faults = [f"{n} must be positive, got {getattr(self, n)}" for n in positive if getattr(self, n) <= 0]
        shares = ("gae_lambda",)
        faults += [
            f"{n} must lie in [0, 1], got {getattr(self, n)}"
            for n in shares
            if not 0 <= getattr(self, n) <= 1
        ]
        jitters = ("latency_jitter", "price_jitter")
        faults += [f"{n} must be at least 1, got {getattr(self, n)}" for n in jitters if getattr(self, n) < 1]
        if faults:
            raise ValueError("head configuration: " + "; ".join(faults))

    @property
    def batch(self) -> int:
        return self.lanes * self.rollout_steps

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "hidden": list(self.hidden)}

    @staticmethod
    def from_json(values: dict[str, Any]) -> HeadConfig:
        unknown = sorted(set(values) - {f.name for f in fields(HeadConfig)})
        if unknown:
            raise ValueError(f"head configuration: unknown {', '.join(unknown)}")
        return HeadConfig(**{**values, "hidden": tuple(values["hidden"])} if "hidden" in values else values)
