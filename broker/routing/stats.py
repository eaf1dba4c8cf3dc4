"""What routing knows of each source from its past calls: how fast, how good, how busy, whether cooling.

Only usable replies enter the latency window: a failure's three milliseconds say nothing of how fast a source
is, and a call that was cut says only "longer than this". The first calls are left out as warm-up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from broker.clock import Clock
from broker.outcomes import AttemptOutcome
from broker.routing.interface import Candidate
from protos.types import LatencyQuantiles, ProviderInfo, ProviderState

WINDOW_S = 60.0
WINDOW_SAMPLES = 256
KEPT_SAMPLES = 8  # newest ones that stay however old they are, so that a rarely asked source is not unknown
WARM_UP_CALLS = 2
REFRESH_S = 0.1  # quantiles are sorted anew at most this often
QUALITY_STEP = 0.05  # weight of the newest call in the running quality
COOLDOWN_S = 1.0  # of a source that said "too many requests" and not how long
MAX_COOLDOWN_S = 300.0

_BLAMELESS = frozenset(
    {
        AttemptOutcome.CANCELLED,
        AttemptOutcome.HEDGE_LOST,
        AttemptOutcome.NO_GUIDANCE,
    }
)
"""Ends that say nothing about a source."""


def quantiles_of(seconds: Sequence[float]) -> LatencyQuantiles:
    """Nearest-rank quantiles: the smallest sample that at least q of all samples do not exceed; 0 for none.

    >>> quantiles_of([0.004, 0.001, 0.002, 0.003]).p50_ms
    2.0
    """
    ordered = sorted(seconds)
    count = len(ordered)
    if not count:
        return LatencyQuantiles()
    p50, p95, p99 = (ordered[-(-count * percent // 100) - 1] * 1000 for percent in (50, 95, 99))
    return LatencyQuantiles(p50, p95, p99, count)


@dataclass(slots=True)
class SourceStats:
    """Of one source. Times are seconds on the broker's clock."""

    in_flight: int = 0
    quality: float = 1.0  # running share of usable replies, 0 ... 1
    available_at: float = 0.0
    _warm_up: int = WARM_UP_CALLS
    _samples: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=WINDOW_SAMPLES))
    _quantiles: LatencyQuantiles = field(default_factory=LatencyQuantiles)
    _fresh_until: float = float("-inf")

    def ended(self, outcome: AttemptOutcome, seconds: float, now: float) -> None:
        if outcome not in _BLAMELESS:
            self.quality += QUALITY_STEP * (float(outcome.usable) - self.quality)
        if not outcome.usable:
            return
        if self._warm_up:
            self._warm_up -= 1
            return
        if not self._samples:
            self._fresh_until = now
        self._samples.append((now, seconds))

    def cool(self, seconds: float, now: float) -> None:
        """The end of a cooldown is the latest of all known ends."""
        self.available_at = max(self.available_at, now + min(max(0.0, seconds), MAX_COOLDOWN_S))

    def latency(self, now: float) -> LatencyQuantiles:
        if now >= self._fresh_until:
            self._fresh_until = now + REFRESH_S
            while len(self._samples) > KEPT_SAMPLES and self._samples[0][0] < now - WINDOW_S:
                self._samples.popleft()
            self._quantiles = quantiles_of([seconds for _, seconds in self._samples])
        return self._quantiles


class Stats:
    """Of all sources, by id. A source that is not known yet has no samples and full quality."""

    def __init__(self, clock: Clock, cooldown_s: float = COOLDOWN_S) -> None:
        self._clock = clock
        self._cooldown_s = cooldown_s
        self._sources: dict[str, SourceStats] = {}

    def of(self, provider_id: str) -> SourceStats:
        found = self._sources.get(provider_id)
        if found is None:
            found = self._sources[provider_id] = SourceStats()
        return found

    def forget(self, provider_id: str) -> None:
        """A source was removed, or replaced by another of the same name."""
        self._sources.pop(provider_id, None)

    def started(self, provider_id: str) -> None:
        self.of(provider_id).in_flight += 1

    def ended(
        self, provider_id: str, outcome: AttemptOutcome, seconds: float, retry_after_ms: int | None = None
    ) -> None:
        """A started call ended after ``seconds``; ``retry_after_ms``: how long it wants to be left alone."""
        source, now = self.of(provider_id), self._clock.now()
        source.in_flight -= 1
        source.ended(outcome, seconds, now)
        if outcome is AttemptOutcome.RATE_LIMITED:
            source.cool(self._cooldown_s if retry_after_ms is None else retry_after_ms / 1000, now)

    def candidate(self, info: ProviderInfo, state: ProviderState) -> Candidate:
        """What routing may know of a source now."""
        source, now = self.of(info.provider_id), self._clock.now()
        cooling = source.available_at > now
        return Candidate(
            info=info,
            state=ProviderState.COOLING if cooling and state is ProviderState.READY else state,
            latency=source.latency(now),
            in_flight=source.in_flight,
            quality=source.quality,
            available_at=source.available_at if cooling else 0.0,
        )
