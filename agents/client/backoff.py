"""How long to wait before the next attempt to connect."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Attempt n (from 0) waits ``initial_s * factor**n``, at most ``max_s``, times a jitter of ±20 %."""

    initial_s: float = 0.05
    factor: float = 1.6
    max_s: float = 2.0
    jitter: float = 0.2

    def delay_s(self, attempt: int, source: random.Random) -> float:
        """Seconds; `source` is the connection's own, so that no learner's random stream is drawn from."""
        # the exponent is capped because a day of outage would overflow the power
        plain = min(self.max_s, self.initial_s * self.factor ** min(attempt, 64))
        return plain * (1.0 + self.jitter * (2.0 * source.random() - 1.0))
