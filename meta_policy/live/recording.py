"""Latency traces through the real broker, as the control loop sees them, for the virtual clock to replay."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from meta_policy import machine, seeds
from meta_policy.decision.baselines import share_to_chance
from meta_policy.evaluation.arms import HOLD
from meta_policy.evaluation.conditions import Arm
from meta_policy.live.stage import Setting, stage
from meta_policy.moves import ALONE, MoveSet
from meta_policy.view import Counts, Flags, LaneView
from meta_policy.virtual.traces import Traces

GUIDED_SHARE = 0.5
MAX_SAMPLES = 10_000


class TooManyMisses(RuntimeError):
    """The machine was too busy for its clock to be believed."""


@dataclass(frozen=True, slots=True)
class AskEverybody:
    """Asks a provider drawn at random, so that all are heard under the same load."""

    moves: tuple[int, ...]
    chance: float

    def decide(self, view: LaneView, legal: Flags) -> Counts:
        rows = len(view.step)
        drawn = np.asarray(self.moves)[view.rng.integers(len(self.moves), size=rows)]
        wanted = (view.rng.random(rows) < self.chance) & legal[np.arange(rows), drawn]
        return np.where(wanted, drawn, ALONE)


async def record(setting: Setting, episodes: int) -> tuple[Traces, float]:
    """Play `episodes` recording episodes; the traces of every provider and the share of missed ticks.

    The first answers of a fresh broker are left out: they time its warm-up.
    """
    moves = MoveSet(setting.preset.provider_ids)
    asks = tuple(moves.ask(name, HOLD) for name in setting.preset.provider_ids)
    arm = Arm("recording", "", lambda: AskEverybody(asks, share_to_chance(GUIDED_SHARE, HOLD)))
    async with stage(setting) as live:
        await live.play(arm, seeds.first(seeds.RECORDING, setting.lanes))
        for heard in live.guide.arrivals.taken_ms.values():
            heard.clear()
        await live.play(arm, seeds.first(seeds.RECORDING, episodes))
        heard = {name: np.asarray(ms[-MAX_SAMPLES:]) for name, ms in live.guide.arrivals.taken_ms.items()}
        missed = live.guide.ticker.missed_share
    source = {"recorded": f"through a broker, {setting.lanes} lanes at {setting.period_ms:g} ms a step"}
    return Traces(setting.preset.task, heard, json.dumps(source | machine.describe())), missed
