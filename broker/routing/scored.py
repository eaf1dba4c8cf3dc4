"""A weighted sum of what speaks for a source: it answers, it is quick for the time there is, it is cheap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field as Limited

from broker.config import RouteSettings
from broker.routing.eligible import sort_out
from broker.routing.exploration import ENOUGH_SAMPLES, Exploration
from broker.routing.interface import Candidate, Need, Plan, Step

Weight = Annotated[float, Limited(ge=0)]


class ScoredSettings(RouteSettings):
    """Weights of the parts of a score; see :func:`score`."""

    quality_weight: Weight = 1.0
    latency_weight: Weight = 0.5
    price_weight: Weight = 0.25
    explore_every: Annotated[int, Limited(ge=0)] = 10


class Scored:
    name = "scored"

    def __init__(self, settings: ScoredSettings) -> None:
        self._settings = settings
        self._exploration = Exploration(settings.explore_every)

    def plan(self, need: Need, candidates: Sequence[Candidate]) -> Plan:
        field = sort_out(need, candidates, self._settings)
        prices = [c.info.price.estimate(need.hold_steps) for c in field.eligible]
        dearest = max(prices, default=0.0)
        steps = [
            _step(self._settings, need, candidate, price / dearest if dearest else 0.0)
            for candidate, price in zip(field.eligible, prices, strict=True)
        ]
        steps.sort(key=lambda step: -step.score)
        attempts = self._exploration.applied(steps, field.eligible)
        return Plan(self.name, attempts, field.excluded, field.fallback, field.cooling)


def score(settings: ScoredSettings, quality: float, latency_share: float, price_share: float) -> float:
    """w_q quality - w_l latency_share - w_p price_share, every part 0 ... 1.

    ``quality``: running share of usable replies; ``latency_share``: p95 of the time left; ``price_share``: of
    the dearest candidate's price.
    """
    against = settings.latency_weight * latency_share + settings.price_weight * price_share
    return settings.quality_weight * quality - against


def _step(settings: ScoredSettings, need: Need, candidate: Candidate, price_share: float) -> Step:
    """A source of unknown latency is taken to be half as slow as it may be."""
    latency, left_ms = candidate.latency, need.time_left_s * 1000
    known = latency.samples >= ENOUGH_SAMPLES
    latency_share = min(1.0, latency.p95_ms / left_ms) if known and left_ms > 0 else 0.5
    value = score(settings, candidate.quality, latency_share, price_share)
    parts = f"quality {candidate.quality:.2f}, latency {latency_share:.2f}, price {price_share:.2f}"
    return Step(candidate.info.provider_id, value, parts)
