"""THE STORY of the demo: a broker on loopback, four agents at the task's control rate, four methods over
the same eight episodes, and what came of it.

Every episode is recorded the moment it ends, so that a run stopped anywhere still has a report. A broker
that dies is started again; meanwhile the agents act alone under their last constraints, and the session
comes back by itself.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.tasks import task_info
from meta_policy import places, seeds
from meta_policy.demo.drawing import Agent
from meta_policy.demo.pictures import Timeline
from meta_policy.demo.progress import Pace, Tally
from meta_policy.demo.timeline import TimelineWatch
from meta_policy.evaluation import arms, operating_points
from meta_policy.evaluation.conditions import Arm
from meta_policy.evaluation.episodes import Episode
from meta_policy.evaluation.evaluation import Played
from meta_policy.live.broker_process import BrokerFailed, BrokerProcess
from meta_policy.live.stage import Setting, Stage, stage
from meta_policy.loop import StepRecord
from meta_policy.presets import Preset
from protos.types import ProviderState

LANES = 4
EPISODES = 8
OVERHEAD_S = 15.0
WATCH_BROKER_S = 0.2


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is shown. `head` is the head's file."""

    preset: Preset
    executor_seed: int
    head: Path
    arms: tuple[Arm, ...]
    episodes: int = EPISODES
    lanes: int = LANES
    period_scale: float = 1.0

    @property
    def setting(self) -> Setting:
        return Setting(self.preset, self.executor_seed, self.lanes, period_scale=self.period_scale)

    @property
    def seeds(self) -> list[int]:
        return seeds.first(seeds.TEST, self.episodes)

    @property
    def bound_s(self) -> float:
        """Every episode at its full length, and the time to start and to report."""
        steps = len(self.arms) * math.ceil(self.episodes / self.lanes) * task_info(self.preset.task).max_steps
        return steps * self.setting.period_ms / 1000 + OVERHEAD_S


@dataclass(slots=True)
class Shown:
    """All that has happened so far; complete once the last method has ended."""

    played: list[Played] = field(default_factory=list)
    agents: list[Agent] = field(default_factory=list)
    timeline: Timeline | None = None
    providers: list[dict[str, Any]] = field(default_factory=list)
    metrics_url: str = ""
    starts: int = 0
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    complete: bool = False


def wanted(preset: Preset, executor_seed: int, episodes: int = EPISODES, period_scale: float = 1.0) -> Wanted:
    """never, always the dearest, the head at the main operating point, random at its share.

    FileNotFoundError when no head is committed for this executor.
    """
    heads = places.heads(preset, executor_seed)
    if not heads:
        raise FileNotFoundError(f"no head for executor {executor_seed} under {places.points(preset).parent}")
    points = operating_points.load(places.points(preset), executor_seed)
    point = operating_points.main_point([point for point in points if point.head_seed in heads])
    head = heads[point.head_seed]
    chosen = (
        arms.never(),
        arms.always_dearest(preset),
        arms.matched(preset, "random", point.matched["random"].parameter, point.point),
        arms.head(head, point.beta, point.point, point.head_seed),
    )
    return Wanted(preset, executor_seed, head, chosen, episodes, period_scale=period_scale)


async def show(what: Wanted, shown: Shown, pace: Pace) -> None:
    """Play it all, filling `shown` as it goes, so that whoever interrupts this has what there was."""
    began = time.monotonic()
    async with stage(what.setting) as live:
        shown.metrics_url = live.broker.metrics_url
        keeper = asyncio.create_task(keep(live.broker, shown, pace))
        try:
            for number, arm in enumerate(what.arms, start=1):
                await _play(
                    live,
                    arm,
                    f"{arm.method.replace('_', ' ')} ({number} of {len(what.arms)})",
                    shown,
                    pace,
                    what,
                )
                pace.say(_line(shown.played[-1]))
            shown.complete = True
        finally:
            shown.seconds = time.monotonic() - began
            shown.starts = live.broker.starts
            shown.providers = provider_rows(live, shown.played)
            keeper.cancel()
            with suppress(asyncio.CancelledError):
                await keeper


async def _play(live: Stage, arm: Arm, title: str, shown: Shown, pace: Pace, what: Wanted) -> None:
    """One method. Its episodes so far are kept even if it is interrupted."""
    names = [f"agent {lane + 1}" for lane in range(what.lanes)]
    tally = Tally(names, what.preset.provider_ids, live.setting.period_ms)
    timeline = TimelineWatch(live.setting.period_ms)

    def watch(record: StepRecord) -> None:
        tally(record)
        if arm.method == "head":
            timeline(record)
        pace.offer(title, tally)

    ended: list[Episode] = []
    try:
        await live.play(arm, what.seeds, watch, ended.append)
    finally:
        ended.sort(key=lambda episode: episode.seed)
        if ended:
            shown.played.append(Played(live.setting.condition, arm.method, arm.point, arm.head_seed, ended))
        if arm.method == "head":
            shown.agents, shown.timeline = tally.agents(), timeline.told()


async def keep(broker: BrokerProcess, shown: Shown, pace: Pace) -> None:
    """Start the broker again whenever it has died. The agents are not told: they find out, and come back."""
    while True:
        await asyncio.sleep(WATCH_BROKER_S)
        if broker.alive:
            continue
        note = (
            f"the broker ended (code {broker.exit_code}); it is started again, the agents act alone meanwhile"
        )
        shown.notes.append(note)
        pace.note = note
        pace.say(note)
        broker.spawn()
        try:
            await broker.ready()
        except BrokerFailed as failed:
            pace.say(f"it did not come back: {failed}")
            continue
        pace.note = "the broker is back"
        pace.say(pace.note)


def provider_rows(live: Stage, played: Sequence[Played]) -> list[dict[str, Any]]:
    """One row a source: what it costs, how fast it was, what was asked of it."""
    told = live.guide.providers
    counts = live.session.counts
    rows = []
    for i, name in enumerate(told.ids):
        guided = sum(e.guided_by.get(name, 0) for p in played for e in p.episodes)
        rows.append(
            {
                "id": name,
                "usd_per_leased_step": float(told.usd_per_step[i]),
                "p50_ms": float(told.p50_ms[i]),
                "p95_ms": float(told.p95_ms[i]),
                "p99_ms": float(told.p99_ms[i]),
                "state": ProviderState(int(told.state[i])).name,
                "asks": live.guide.asks_of[i],
                "steps_guided": guided,
                "charged_usd": counts.charged_usd.get(name, 0.0),
            }
        )
    return rows


def _line(played: Played) -> str:
    name, share = played.method.replace("_", " "), played.share("guided")
    spent = played.per_episode("price_usd")
    return (
        f"{name}: return {played.returns.mean():.0f}, guided {share:.1%}, {spent:.4f} USD an episode, "
        f"missed ticks {played.missed_share:.2%}"
    )
