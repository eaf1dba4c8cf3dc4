"""Many alarms, one sleeping task: an ask that waits costs a heap entry, not a task."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
from collections.abc import Callable

from broker.clock import Clock

SWEEP_FROM = 1_000  # cancelled alarms that are not worth a sweep


class Alarm:
    """A call that happens once its time has come, unless it is cancelled before."""

    __slots__ = ("_alarms", "_ring", "when")

    def __init__(self, alarms: Alarms, when: float, ring: Callable[[], None]) -> None:
        self._alarms = alarms
        self.when = when
        self._ring: Callable[[], None] | None = ring

    @property
    def silent(self) -> bool:
        """Whether it has rung, or was cancelled."""
        return self._ring is None

    def cancel(self) -> None:
        if self._ring is not None:
            self._ring = None
            self._alarms.cancelled()

    def ring(self) -> None:
        ring, self._ring = self._ring, None
        if ring is not None:
            ring()


class Alarms:
    """Rings alarms in order of their times. Needs a running loop from the first :meth:`at` on."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Alarm]] = []
        self._order = itertools.count()
        self._sleeper: asyncio.Task[None] | None = None
        self._cancelled = 0

    def __len__(self) -> int:
        return len(self._heap)

    def at(self, when: float, ring: Callable[[], None]) -> Alarm:
        alarm = Alarm(self, when, ring)
        heapq.heappush(self._heap, (when, next(self._order), alarm))
        if self._heap[0][2] is alarm:
            self._sleep_anew()
        return alarm

    def cancelled(self) -> None:
        """An alarm says it was cancelled: most are, so once half of the heap is silent it is swept."""
        self._cancelled += 1
        if self._cancelled > SWEEP_FROM and self._cancelled > len(self._heap) // 2:
            self._heap = [entry for entry in self._heap if not entry[2].silent]
            heapq.heapify(self._heap)
            self._cancelled = 0

    async def close(self) -> None:
        self._heap.clear()
        if self._sleeper is not None:
            self._sleeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sleeper

    def _sleep_anew(self) -> None:
        if self._sleeper is not None:
            self._sleeper.cancel()
        self._sleeper = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while self._heap:
            when = self._heap[0][0]
            if self._clock.now() < when:
                await self._clock.sleep_until(when)
            self._ring_due()
        self._sleeper = None

    def _ring_due(self) -> None:
        now = self._clock.now()
        while self._heap and self._heap[0][0] <= now:
            alarm = heapq.heappop(self._heap)[2]
            try:
                alarm.ring()
            except Exception as error:  # one faulty callback must not silence all later alarms
                asyncio.get_running_loop().call_exception_handler({"message": "alarm", "exception": error})
