"""The lowest median latency first; among equals the less busy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field as Limited

from broker.config import RouteSettings
from broker.routing.eligible import sort_out
from broker.routing.exploration import ENOUGH_SAMPLES, Exploration
from broker.routing.interface import Candidate, Need, Plan, Step


class FastestSettings(RouteSettings):
    """Every ``explore_every``-th plan begins with a source whose latency is not known; 0: none does."""

    explore_every: Annotated[int, Limited(ge=0)] = 10


class Fastest:
    """Sources of unknown latency come after the known ones, but for their share of exploration."""

    name = "fastest"

    def __init__(self, settings: FastestSettings) -> None:
        self._settings = settings
        self._exploration = Exploration(settings.explore_every)

    def plan(self, need: Need, candidates: Sequence[Candidate]) -> Plan:
        field = sort_out(need, candidates, self._settings)
        ordered = sorted(field.eligible, key=_slowness)
        steps = [Step(c.info.provider_id, -c.latency.p50_ms, _why(c)) for c in ordered]
        attempts = self._exploration.applied(steps, ordered)
        return Plan(self.name, attempts, field.excluded, field.fallback, field.cooling)


def _slowness(candidate: Candidate) -> tuple[bool, float, int]:
    cold = candidate.latency.samples < ENOUGH_SAMPLES
    return cold, candidate.latency.p50_ms, candidate.in_flight


def _why(candidate: Candidate) -> str:
    if candidate.latency.samples < ENOUGH_SAMPLES:
        return "latency not known yet"
    return f"median {candidate.latency.p50_ms:.3g} ms"
