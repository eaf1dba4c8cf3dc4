"""The lowest listed price first; among equals the faster."""

from __future__ import annotations

from collections.abc import Sequence

from broker.config import RouteSettings
from broker.routing.eligible import sort_out
from broker.routing.interface import Candidate, Need, Plan, Step


class CheapestSettings(RouteSettings):
    """No keys of its own."""


class Cheapest:
    name = "cheapest"

    def __init__(self, settings: CheapestSettings) -> None:
        self._settings = settings

    def plan(self, need: Need, candidates: Sequence[Candidate]) -> Plan:
        field = sort_out(need, candidates, self._settings)
        priced = [(c.info.price.estimate(need.hold_steps), c.latency.p50_ms, c) for c in field.eligible]
        priced.sort(key=lambda entry: entry[:2])
        steps = tuple(Step(c.info.provider_id, -usd, f"{usd:g} USD a row") for usd, _, c in priced)
        return Plan(self.name, steps, field.excluded, field.fallback, field.cooling)
