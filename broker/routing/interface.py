"""A route is a pure decision: the query's needs and what is known of each source in, a plan out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from broker.outcomes import AttemptOutcome
from protos.types import LatencyQuantiles, ProviderInfo, ProviderState


@dataclass(frozen=True, slots=True)
class Candidate:
    """What routing knows of one source at this moment."""

    info: ProviderInfo
    state: ProviderState
    latency: LatencyQuantiles
    in_flight: int
    quality: float
    available_at: float = 0.0  # end of its cooldown on the broker's clock, seconds; 0: now


class SourceRecord(Protocol):
    """The past of one source. Times are seconds on the broker's clock."""

    @property
    def available_at(self) -> float:
        """The end of its cooldown."""
        ...

    def latency(self, now: float) -> LatencyQuantiles:
        """Of usable replies only, warm-up left out."""
        ...


class Records(Protocol):
    """Where whoever calls sources notes how that went."""

    def of(self, provider_id: str) -> SourceRecord: ...

    def started(self, provider_id: str) -> None: ...

    def ended(
        self, provider_id: str, outcome: AttemptOutcome, seconds: float, retry_after_ms: int | None = None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Need:
    """What a query asks of a route: USD a row, seconds left."""

    hold_steps: int
    time_left_s: float
    max_price_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    provider_id: str
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Attempts in order; ``excluded`` says who was left out and why.

    ``fallback`` is tried once the attempts have failed, in time that is kept for it, and marks its answer
    degraded; empty: none. ``cooling``: those whose cooldown alone kept them out.
    """

    strategy: str
    attempts: tuple[Step, ...]
    excluded: tuple[Step, ...] = ()
    fallback: str = ""
    cooling: tuple[str, ...] = ()


class Strategy(Protocol):
    @property
    def name(self) -> str: ...

    def plan(self, need: Need, candidates: Sequence[Candidate]) -> Plan: ...
