"""Play whole episodes of given seeds and keep what each one came to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from meta_policy.decider import Decider
from meta_policy.evaluation.first_guidance import FirstGuidance
from meta_policy.loop import Loop, StepRecord, Watch
from meta_policy.view import Floats


@dataclass(slots=True)
class Episode:
    """Sums over one episode; `first_ms` is, for each ask that led to any, the time to its first guidance."""

    seed: int
    beta: float = 0.0
    total_return: float = 0.0
    steps: int = 0
    guided: int = 0
    asked: int = 0
    paid: int = 0
    switches: int = 0
    price_usd: float = 0.0
    wait_ms: float = 0.0
    missed_ticks: int = 0
    guided_by: dict[str, int] = field(default_factory=dict)
    first_ms: list[float] = field(default_factory=list)


async def play(
    loop: Loop,
    decider: Decider,
    seeds: Sequence[int],
    beta: float = 0.0,
    watch: Watch | None = None,
    ended: Callable[[Episode], None] | None = None,
) -> list[Episode]:
    """One episode a seed, in the order of `seeds`; a lane that becomes free takes the next seed.

    `watch` is shown every step and `ended` every episode as it ends. A decider with a method `begin(lanes)`
    is told where episodes start.
    """
    waiting = list(reversed(range(len(seeds))))
    running = np.full(len(loop.lanes), -1)
    episodes = [Episode(int(seed), beta) for seed in seeds]
    first = FirstGuidance(len(loop.lanes), loop.rules.period_ms)
    while True:
        await _fill(loop, decider, waiting, running, episodes)
        if not loop.lanes.active.any():
            return episodes
        record = await loop.step(decider)
        _add(record, first.observe(record.request, record.exchange), running, episodes)
        if watch is not None:
            watch(record)
        if ended is not None:
            for lane in np.flatnonzero(record.done & record.active):
                ended(episodes[running[lane]])


async def _fill(
    loop: Loop, decider: Decider, waiting: list[int], running: np.ndarray, episodes: list[Episode]
) -> None:
    free = np.flatnonzero(~loop.lanes.active)[: len(waiting)]
    if not free.size:
        return
    running[free] = [waiting.pop() for _ in free]
    chosen = [episodes[i] for i in running[free]]
    seeds, betas = np.array([e.seed for e in chosen]), np.array([e.beta for e in chosen])
    await loop.begin(free, seeds, betas)
    if hasattr(decider, "begin"):
        decider.begin(free)


def _add(record: StepRecord, first_ms: Floats, running: np.ndarray, episodes: list[Episode]) -> None:
    exchange, ids = record.exchange, record.view.providers.ids
    for lane in np.flatnonzero(record.active):
        episode = episodes[running[lane]]
        episode.steps += 1
        episode.total_return += float(record.reward[lane])
        episode.price_usd += float(exchange.price_usd[lane])
        episode.paid += bool(exchange.price_usd[lane] > 0)
        episode.wait_ms += float(exchange.wait_ms[lane])
        episode.switches += bool(record.switched[lane])
        episode.missed_ticks += record.missed
        if record.origin[lane] >= 0:
            name = ids[record.origin[lane]]
            episode.guided += 1
            episode.guided_by[name] = episode.guided_by.get(name, 0) + 1
        episode.asked += bool(record.request.opens[lane] >= 0)
        if np.isfinite(first_ms[lane]):
            episode.first_ms.append(float(first_ms[lane]))
