"""How many asks the broker takes on at once: beyond that they are shed, quickly and with a hint."""

from __future__ import annotations

from broker.errors import Shed, Unavailable
from broker.events import AskEnded, AskReceived, Event

SHED_RETRY_MS = 100
DRAIN_RETRY_MS = 1000


class Admission:
    """Counts by listening: what was received and has not ended is in flight."""

    def __init__(self, max_in_flight: int) -> None:
        self.max_in_flight = max_in_flight
        self.in_flight = 0
        self.draining = False

    def __call__(self, event: Event) -> None:
        kind = type(event)
        if kind is AskReceived:
            self.in_flight += event.rows  # type: ignore[union-attr]
        elif kind is AskEnded:
            self.in_flight -= event.rows  # type: ignore[union-attr]

    def refusal(self) -> Shed | Unavailable | None:
        """Why what was just received is not taken on; None: it is."""
        if self.draining:
            return Unavailable("the broker is shutting down", "DRAINING", retry_after_ms=DRAIN_RETRY_MS)
        if self.in_flight > self.max_in_flight:
            message = "the broker has more asks in flight than it takes on"
            return Shed(message, "TOO_MANY_IN_FLIGHT", retry_after_ms=SHED_RETRY_MS)
        return None
