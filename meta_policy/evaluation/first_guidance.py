"""How long an agent waits, after asking, for the first guidance it can act on."""

from __future__ import annotations

import numpy as np

from meta_policy.guide import Exchange, Request
from meta_policy.view import Floats


class FirstGuidance:
    """Follows each lane's newest ask until an answer to it is executed; a lease that ends unused counts
    nothing.

    An answer in time counts its own latency; one that comes d steps later is d periods older.
    """

    def __init__(self, lanes: int, period_ms: float) -> None:
        self._period_ms = period_ms
        self._asked_at = np.full(lanes, -1)

    def observe(self, request: Request, exchange: Exchange) -> Floats:
        """Take one step in; milliseconds from the ask to its first guidance `[B]`, where that came at this
        step, else NaN."""
        opened = request.opens >= 0
        self._asked_at[opened] = request.step[opened]
        self._asked_at[(request.serves < 0) | ~request.active] = -1
        came = exchange.guided & (self._asked_at >= 0)
        steps = request.step - self._asked_at
        within = np.where(np.isfinite(exchange.latency_ms), exchange.latency_ms, self._period_ms / 2)
        first: Floats = np.where(came, steps * self._period_ms + within, np.nan)
        self._asked_at[came] = -1
        return first
