"""The methods that are compared, by name."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from agents.policy_file import Policy
from meta_policy.decider import Decider
from meta_policy.decision.baselines import Always, Never, Periodic, Random, ValueSpread, share_to_chance
from meta_policy.decision.fallback import unless_collapsed
from meta_policy.decision.head import Head, HeadDecider
from meta_policy.evaluation.conditions import Arm
from meta_policy.moves import MoveSet
from meta_policy.presets import Preset

HOLD = 5
"""Hold of every method that does not choose one."""

FALLBACK_SHARE = 0.15
"""Of the steps, guided in place of a method whose uncertainty has collapsed."""

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
        make = partial(ValueSpread, move, share_to_chance(share, HOLD))
        return Arm(method, point, make, reads_doubt=True)
    raise ValueError(f"unknown method {method!r}; there are {', '.join(MATCHED)}")


def head(path: Path, beta: float, point: str, head_seed: int) -> Arm:
    """A trained head at one beta. HeadFileError when the file is none."""
    return Arm("head", point, partial(HeadDecider, Head.load(path)), beta, head_seed, reads_doubt=True)


def decider_of(arm: Arm, own: Policy, preset: Preset) -> Decider:
    """A fresh decider for `arm`, or asking the dearest provider at a fixed rate: where `arm` reads the doubt
    of `own` and its ensemble has collapsed."""
    decider = arm.make()
    if not arm.reads_doubt:
        return decider
    move = MoveSet(preset.provider_ids).ask(dearest(preset), HOLD)
    return unless_collapsed(decider, own, move, every=HOLD / FALLBACK_SHARE)


def dearest(preset: Preset) -> str:
    return max(preset.sources, key=lambda source: source.usd_per_step).provider_id
