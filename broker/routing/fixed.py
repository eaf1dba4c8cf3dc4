"""In the order of the configuration: the first that can be asked, then the next."""

from __future__ import annotations

from collections.abc import Sequence

from broker.config import RouteSettings
from broker.routing.eligible import sort_out
from broker.routing.interface import Candidate, Need, Plan, Step


class FixedSettings(RouteSettings):
    """``providers`` is the order."""


class Fixed:
    name = "fixed"

    def __init__(self, settings: FixedSettings) -> None:
        self._settings = settings

    def plan(self, need: Need, candidates: Sequence[Candidate]) -> Plan:
        field = sort_out(need, candidates, self._settings)
        places = {candidate.info.provider_id for candidate in field.eligible}
        steps = tuple(
            Step(provider_id, -float(place), f"number {place + 1} of the route")
            for place, provider_id in enumerate(self._settings.providers)
            if provider_id in places
        )
        return Plan(self.name, steps, field.excluded, field.fallback, field.cooling)
