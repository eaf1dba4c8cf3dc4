"""Time as a value that can be handed in: production reads the machine, tests advance it by hand."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from typing import Protocol


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
    early, which is much against a control period of eight. So of an exact sleep the loop's timer covers all
    but the last ``SLACK_S``, and one callback, shared by all sleepers and there only while somebody is that
    close, turns with the loop for the rest. Other work goes on between the turns.
    """

    SLACK_S = 0.0012
    TICK_S = 0.001

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._order = itertools.count()
        self._close: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep_until(self, when: float, exactly: bool = False) -> None:
        if exactly:
            await asyncio.sleep(max(0.0, when - self.SLACK_S - time.monotonic()))
            if time.monotonic() < when:
                await self._turn_until(when)
            return
        while (left := when - time.monotonic()) > 0:  # noqa: ASYNC110 (a timer may be early)
            await asyncio.sleep(max(left, self.TICK_S))

    def _turn_until(self, when: float) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # a loop that has ended took its sleepers with it
            self._loop, self._close = loop, []
        future: asyncio.Future[None] = loop.create_future()
        if not self._close:
            loop.call_soon(self._turn, loop)
        heapq.heappush(self._close, (when, next(self._order), future))
        return future

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        now = time.monotonic()
        while self._close and (self._close[0][0] <= now or self._close[0][2].done()):
            future = heapq.heappop(self._close)[2]
            if not future.done():
                future.set_result(None)
        if self._close:
            loop.call_soon(self._turn, loop)
