"""Who can be asked at all: what every strategy decides in the same way, and says in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from broker.config import RouteSettings
from broker.routing.interface import Candidate, Need, Step
from protos.types import ProviderState

COOLING = "cooling"


@dataclass(frozen=True, slots=True)
class Field:
    """The candidates of one plan. ``fallback`` is "" where there is none or it cannot be asked."""

    eligible: list[Candidate]
    excluded: tuple[Step, ...]
    fallback: str
    cooling: tuple[str, ...]


def sort_out(need: Need, candidates: Sequence[Candidate], settings: RouteSettings) -> Field:
    """Split a need's candidates. A fallback that is no provider of the route stands apart from the rest."""
    eligible: list[Candidate] = []
    excluded: list[Step] = []
    cooling: list[str] = []
    standing_by = ""
    crowded = all(busy(candidate) for candidate in candidates)  # then one waits its turn
    for candidate in candidates:
        provider_id = candidate.info.provider_id
        why = obstacle(need, candidate)
        if not why and busy(candidate) and not crowded:
            why = "at its concurrency limit"
        if why:
            excluded.append(Step(provider_id, 0.0, why))
            if why == COOLING:
                cooling.append(provider_id)
            continue
        if provider_id == settings.fallback:
            standing_by = provider_id
        if provider_id in settings.providers:
            eligible.append(candidate)
    return Field(eligible, tuple(excluded), standing_by, tuple(cooling))


def busy(candidate: Candidate) -> bool:
    most = candidate.info.max_concurrency
    return bool(most) and candidate.in_flight >= most


def obstacle(need: Need, candidate: Candidate) -> str:
    """Why a source cannot be asked; empty: it can. ``COOLING`` only where nothing else stands in the way."""
    info = candidate.info
    if candidate.state not in (ProviderState.READY, ProviderState.COOLING):
        return candidate.state.name.lower()
    if need.hold_steps and not info.leasable:
        return "gives no leases"
    if need.max_price_usd is not None and info.price.estimate(need.hold_steps) > need.max_price_usd:
        return "above the price limit"
    if candidate.latency.p50_ms / 1000 > need.time_left_s:
        return "its median latency is above the time left"
    return COOLING if candidate.state is ProviderState.COOLING else ""
