"""How many asks the broker takes on at once: beyond that they are shed, quickly and with a hint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
        handler = self.handler_for(type(event))
        if handler is not None:
            handler(event)

    def handler_for(self, kind: type) -> Callable[[Any], None] | None:
        """See :class:`broker.events.Events`."""
        handlers: dict[type, Callable[[Any], None]] = {AskReceived: self._received, AskEnded: self._ended}
        return handlers.get(kind)

    def _received(self, event: AskReceived) -> None:
        self.in_flight += event.rows

    def _ended(self, event: AskEnded) -> None:
        self.in_flight -= event.rows

    def refusal(self) -> Shed | Unavailable | None:
        """Why what was just received is not taken on; None: it is."""
        if self.draining:
            return Unavailable("the broker is shutting down", "DRAINING", retry_after_ms=DRAIN_RETRY_MS)
        if self.in_flight > self.max_in_flight:
            message = "the broker has more asks in flight than it takes on"
            return Shed(message, "TOO_MANY_IN_FLIGHT", retry_after_ms=SHED_RETRY_MS)
        return None
