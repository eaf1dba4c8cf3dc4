"""Per task: the exchange rate of dollars and return, what switching and waiting cost, and the shipped mix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from agents.tasks import task_info
from meta_policy.cost import Costs
from meta_policy.guide import Regime
from meta_policy.loop import Rules


@dataclass(frozen=True, slots=True)
class Source:
    """One provider of a mix. `strength` names its executor's policy file, None the hand-written rule.

    Latency is what the source itself takes, lognormal with these quantiles; the wire comes on top.
    """

    provider_id: str
    strength: str | None
    usd_per_step: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Preset:
    """All figures of one task. `rate` is return per USD; the cost is beta * (rate * price + reliance * guided
    steps) + kappa * switches + tau * waited seconds (tau in the blocking regime only)."""

    task: str
    sources: tuple[Source, ...]
    rate: float
    kappa: float
    tau: float
    betas: tuple[float, float]  # range of beta the head is trained for
    reliance: float = 1.0
    gamma: float = 0.998
    dwell: int = 1
    review_every: int = 5
    max_age_steps: int = 0

    @property
    def provider_ids(self) -> tuple[str, ...]:
        return tuple(source.provider_id for source in self.sources)

    @property
    def short_name(self) -> str:
        """The folder name under artifacts/, such as PerturbedHopper."""
        return self.task.removeprefix("guidance/").removesuffix("-v0")

    @property
    def period_ms(self) -> float:
        return task_info(self.task).period_us / 1000.0

    def rules(self, period_scale: float = 1.0) -> Rules:
        """What the control loop enforces, at the task's control rate or a scaled one."""
        return Rules(self.period_ms * period_scale, self.dwell, self.review_every)


def _mix(medium: tuple[float, float], strong: tuple[float, float]) -> tuple[Source, ...]:
    return (
        Source("rule", None, 0.0, 0.0, 0.0),
        Source("medium", "medium", 0.0002, *medium),
        Source("strong", "strong", 0.001, *strong),
    )


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        preset.task: preset
        for preset in (
            Preset(
                "guidance/PerturbedHopper-v0",
                _mix((0.5, 2.0), (1.5, 3.5)),
                rate=200.0,
                kappa=0.05,
                tau=20.0,
                betas=(0.8, 8.0),
            ),
            Preset(
                "guidance/PerturbedHalfCheetah-v0",
                _mix((5.0, 20.0), (15.0, 40.0)),
                rate=200.0,
                kappa=0.05,
                tau=5.0,
                betas=(0.3, 5.0),
            ),
        )
    }
)


def preset_of(task: str) -> Preset:
    """The preset of a task id or its short name; ValueError lists what there is."""
    for preset in PRESETS.values():
        if task in (preset.task, preset.short_name):
            return preset
    raise ValueError(f"no preset for {task!r}; there are {', '.join(PRESETS)}")


def costs_of(preset: Preset, regime: Regime) -> Costs:
    """tau counts in the blocking regime only."""
    return Costs(preset.rate, preset.kappa, preset.tau if regime == "blocking" else 0.0, preset.reliance)
