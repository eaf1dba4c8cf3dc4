"""Candidates with literal figures."""

from __future__ import annotations

from broker.routing.interface import Candidate, Need
from broker.testing import scripted_provider
from protos.types import LatencyQuantiles, Price, ProviderState

NEED = Need(hold_steps=0, time_left_s=5.0)


def a_candidate(
    provider_id: str,
    *,
    ms: float | None = 10.0,
    usd: float = 0.0,
    step_usd: float = 0.0,
    quality: float = 1.0,
    in_flight: int = 0,
    max_concurrency: int = 0,
    leasable: bool = True,
    state: ProviderState = ProviderState.READY,
    available_at: float = 0.0,
) -> Candidate:
    """``ms`` None: its latency is not known."""
    info = scripted_provider(
        provider_id, price=Price(usd, step_usd), max_concurrency=max_concurrency, leasable=leasable
    ).info
    latency = LatencyQuantiles() if ms is None else LatencyQuantiles(ms, 2 * ms, 3 * ms, 50)
    return Candidate(info, state, latency, in_flight, quality, available_at)
