"""A kernel timer inside the event loop, for waits that must end within a tenth of a millisecond.

Event loops count in whole milliseconds, which is much against a control period of eight. Turning with the
loop for the last millisecond is exact on an idle machine, but on a busy one the scheduler takes the time back
from whoever turned. Linux's timerfd costs nothing while it waits, and who slept is woken with preference.
"""

from __future__ import annotations

import asyncio
import ctypes
import heapq
import itertools
import os
import sys
import time
import weakref

AVAILABLE = sys.platform == "linux"
_CLOCK_MONOTONIC = 1  # the clock of time.monotonic()
_NONBLOCK_CLOEXEC = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
_ABSOLUTE = 1


class _TimeSpec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _TimerSpec(ctypes.Structure):
    _fields_ = (("interval", _TimeSpec), ("value", _TimeSpec))


class ExactTimer:
    """One timer of one loop, shared by all who wait on it. Times are seconds of ``time.monotonic()``."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Raises OSError where the system has no such timer."""
        self.loop = loop
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor: int = self._libc.timerfd_create(_CLOCK_MONOTONIC, _NONBLOCK_CLOEXEC)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._order = itertools.count()
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        weakref.finalize(self, os.close, self._descriptor)
        loop.add_reader(self._descriptor, self._ring)

    def at(self, when: float) -> asyncio.Future[None]:
        """Done once ``when`` has come."""
        future: asyncio.Future[None] = self.loop.create_future()
        heapq.heappush(self._waiting, (when, next(self._order), future))
        if self._waiting[0][2] is future:
            self._arm(when)
        return future

    def _arm(self, when: float) -> None:
        nanoseconds = max(1, int(when * 1e9) + 1)
        value = _TimeSpec(*divmod(nanoseconds, 1_000_000_000))
        spec = _TimerSpec(_TimeSpec(0, 0), value)
        if self._libc.timerfd_settime(self._descriptor, _ABSOLUTE, ctypes.byref(spec), None) < 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def _ring(self) -> None:
        try:
            os.read(self._descriptor, 8)
        except BlockingIOError:
            return  # armed anew since
        now = time.monotonic()
        while self._waiting and (self._waiting[0][0] <= now or self._waiting[0][2].done()):
            future = heapq.heappop(self._waiting)[2]
            if not future.done():
                future.set_result(None)
        if self._waiting:
            self._arm(self._waiting[0][0])
