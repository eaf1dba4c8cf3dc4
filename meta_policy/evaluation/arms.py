"""The methods that are compared, by name."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from meta_policy.decision.baselines import Always, Never, Periodic, Random, ValueSpread, share_to_chance
from meta_policy.decision.head import Head, HeadDecider
from meta_policy.evaluation.conditions import Arm
from meta_policy.moves import MoveSet
from meta_policy.presets import Preset

HOLD = 5
"""Hold of every method that does not choose one."""

MATCHED = ("random", "periodic", "value_spread")
"""Methods that are told a share of steps to guide; all ask the dearest provider."""


def never() -> Arm:
    return Arm("never", "", Never)


def always(preset: Preset) -> list[Arm]:
    """One arm a provider, asking again as soon as its lease is over."""
    moves = MoveSet(preset.provider_ids)
    return [Arm(f"always_{name}", "", partial(Always, moves.ask(name, HOLD))) for name in preset.provider_ids]


def always_dearest(preset: Preset) -> Arm:
    return next(arm for arm in always(preset) if arm.method == f"always_{dearest(preset)}")


def matched(preset: Preset, method: str, share: float, point: str) -> Arm:
    """A method of `MATCHED` that would guide `share` of the steps if every answer came in time."""
    move = MoveSet(preset.provider_ids).ask(dearest(preset), HOLD)
    if method == "random":
        return Arm(method, point, partial(Random, move, share_to_chance(share, HOLD)))
    if method == "periodic":
        return Arm(method, point, partial(Periodic, move, HOLD / max(share, 1e-6)))
    if method == "value_spread":
        return Arm(method, point, partial(ValueSpread, move, share_to_chance(share, HOLD)))
    raise ValueError(f"unknown method {method!r}; there are {', '.join(MATCHED)}")


def head(path: Path, beta: float, point: str, head_seed: int) -> Arm:
    """A trained head at one beta. HeadFileError when the file is none."""
    return Arm("head", point, partial(HeadDecider, Head.load(path)), beta, head_seed)


def dearest(preset: Preset) -> str:
    return max(preset.sources, key=lambda source: source.usd_per_step).provider_id
