"""Time as a value that can be handed in: production reads the machine, tests advance it by hand."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from broker.timers.exact import AVAILABLE, ExactTimer


class Clock(Protocol):
    def now(self) -> float:
        """Seconds on a monotonic clock; only differences mean anything."""
        ...

    def wall(self) -> float:
        """Seconds since the epoch, for records that outlive the process."""
        ...

    async def sleep_until(self, when: float, exactly: bool = False) -> None:
        """Return once ``now() >= when``: a millisecond or two late, or ``exactly`` then, which costs more."""
        ...


class SystemClock:
    """The machine's clock. A sleep never ends early.

    Event loops count in whole milliseconds: asyncio wakes up to one too late, uvloop up to half a one too
    early. Exact sleeps use a timer of the kernel's where there is one (:mod:`broker.timers.exact`); elsewhere
    they are as good as the others.
    """

    TICK_S = 0.001

    def __init__(self) -> None:
        self._timer: ExactTimer | None = None

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep_until(self, when: float, exactly: bool = False) -> None:
        if exactly and AVAILABLE and time.monotonic() < when:
            await self._exact().at(when)
        while (left := when - time.monotonic()) > 0:  # noqa: ASYNC110 (a timer may be early)
            await asyncio.sleep(max(left, self.TICK_S))

    def _exact(self) -> ExactTimer:
        loop = asyncio.get_running_loop()
        if self._timer is None or self._timer.loop is not loop:
            self._timer = ExactTimer(loop)
        return self._timer
