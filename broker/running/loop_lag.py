"""How late the event loop wakes: what every ask in this process waits at least."""

from __future__ import annotations

from collections.abc import Callable

from broker.clock import Clock
from broker.events import Event, LoopLagged

PERIOD_S = 0.1


async def watch_loop_lag(clock: Clock, emit: Callable[[Event], None], period_s: float = PERIOD_S) -> None:
    """Emit one :class:`broker.events.LoopLagged` a period, until cancelled."""
    while True:
        due = clock.now() + period_s
        await clock.sleep_until(due)
        emit(LoopLagged(max(0.0, clock.now() - due)))
