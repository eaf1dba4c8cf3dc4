"""Play every method over the same episodes and keep what each came to; interrupted, it goes on from there."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agents.files import write_atomically
from agents.tasks import task_info
from meta_policy.cost import Costs
from meta_policy.evaluation.conditions import Arm, Condition
from meta_policy.evaluation.episodes import Episode
from meta_policy.evaluation.rows import Row

VOID_MISSED_SHARE = 0.01

Player = Callable[[Arm, Sequence[int]], Awaitable[list[Episode]]]
"""Plays one arm over episode seeds; the transport is its business."""


@dataclass(frozen=True, slots=True)
class Played:
    """All episodes of one arm under one condition."""

    condition: Condition
    method: str
    point: str
    head_seed: int
    episodes: list[Episode]

    @property
    def returns(self) -> np.ndarray:
        """[E], in the order of the episode seeds."""
        return np.array([episode.total_return for episode in self.episodes])

    @property
    def steps(self) -> int:
        return sum(episode.steps for episode in self.episodes)

    def share(self, count: str) -> float:
        """Steps counted by an Episode's field (`guided`, `asked`, `paid`), of all steps played."""
        return sum(getattr(episode, count) for episode in self.episodes) / max(1, self.steps)

    def per_episode(self, figure: str) -> float:
        return float(np.mean([getattr(episode, figure) for episode in self.episodes]))

    @property
    def first_ms(self) -> list[float]:
        return [ms for episode in self.episodes for ms in episode.first_ms]

    @property
    def missed_share(self) -> float:
        """Missed control ticks, of those there should have been."""
        missed = sum(episode.missed_ticks for episode in self.episodes)
        return missed / max(1, self.steps + missed)

    @property
    def void(self) -> bool:
        """So many ticks were missed that nothing follows from it."""
        return self.missed_share > VOID_MISSED_SHARE


class Parts:
    """One file an arm under `folder`, written when its last episode has ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, condition: Condition, arm: Arm) -> Path:
        return self.folder / condition.name / f"{arm.name}.json"

    def load(self, condition: Condition, arm: Arm, seeds: Sequence[int]) -> Played | None:
        """What was played before, if it was the same episodes under the same condition and is not void."""
        path = self.path(condition, arm)
        if not path.exists():
            return None
        told = json.loads(path.read_text())
        episodes = [Episode(**episode) for episode in told["episodes"]]
        same = told["condition"] == asdict(condition) and told["beta"] == arm.beta
        if not same or [episode.seed for episode in episodes] != list(seeds):
            return None
        played = Played(condition, arm.method, arm.point, arm.head_seed, episodes)
        return None if played.void else played

    def save(self, played: Played, arm: Arm) -> None:
        told: dict[str, Any] = {
            "condition": asdict(played.condition),
            "method": played.method,
            "point": played.point,
            "beta": arm.beta,
            "head_seed": played.head_seed,
            "episodes": [asdict(episode) for episode in played.episodes],
        }
        write_atomically(self.path(played.condition, arm), json.dumps(told).encode())


async def evaluate(
    condition: Condition,
    arms: Sequence[Arm],
    seeds: Sequence[int],
    play: Player,
    parts: Parts | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> list[Played]:
    """Every arm over the same episode seeds. Arms found in `parts` are not played again."""
    results = []
    for arm in arms:
        played = parts.load(condition, arm, seeds) if parts else None
        again = "" if played is None else " (played before)"
        if played is None:
            episodes = await play(arm, seeds)
            played = Played(condition, arm.method, arm.point, arm.head_seed, episodes)
            if parts:
                parts.save(played, arm)
        say(
            f"{condition.name} {arm.name}: return {played.returns.mean():.0f}, "
            f"guided {played.share('guided'):.1%}, missed ticks {played.missed_share:.2%}{again}"
        )
        results.append(played)
    return results


def rows_of(played: Played, costs: Costs) -> list[Row]:
    """One row an episode. `costs` turns waiting into return."""
    return [_row(played, episode, costs) for episode in played.episodes]


def _row(played: Played, episode: Episode, costs: Costs) -> Row:
    where, steps = played.condition, max(1, episode.steps)
    p50, p95 = np.quantile(episode.first_ms, (0.5, 0.95)).tolist() if episode.first_ms else (None, None)
    return Row(
        task=where.task,
        mix=where.mix,
        clock=where.clock,
        regime=where.regime,
        delay_steps=where.delay_steps,
        degradation=where.degradation,
        method=played.method,
        point=played.point,
        executor_seed=where.executor_seed,
        head_seed=played.head_seed,
        episode_seed=episode.seed,
        episode_return=episode.total_return,
        guided_share=episode.guided / steps,
        asked_share=episode.asked / steps,
        paid_share=episode.paid / steps,
        price_usd=episode.price_usd,
        wait_ms=episode.wait_ms,
        latency_cost=float(costs.latency_cost(np.array(episode.wait_ms))),
        switches_per_100=100 * episode.switches / steps,
        p50_first_ms=p50,
        p95_first_ms=p95,
        missed_ticks=episode.missed_ticks,
        period_ms=task_info(where.task).period_us / 1000 * where.period_scale,
    )
