"""Keeping a control loop on time: ticks on the monotonic clock, misses counted, never silently caught up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import numpy as np

COARSE_S = 0.0013
"""Timers of an event loop count whole milliseconds (epoll's and libuv's unit). The last stretch is spent
turning the loop instead, which also lets answers in."""

LATE_SHARE = 0.1
"""A tick begun later than this share of the period is a missed one."""


async def sleep_until(when: float) -> None:
    """Come back at `when` (seconds of `time.monotonic`), within about 0.1 ms on an idle core."""
    coarse = when - time.monotonic() - COARSE_S
    if coarse > 0:
        await asyncio.sleep(coarse)
    while time.monotonic() < when:  # noqa: ASYNC110 (no event marks a moment)
        await asyncio.sleep(0)


@dataclass(slots=True)
class Ticker:
    """The start of every control period. `sleep` and `now` are the clock; tests bring their own.

    A tick begun more than `LATE_SHARE` of a period after it was due is missed, and so is every further period
    that went by; the schedule starts anew from the late tick, so no two steps are ever squeezed together.
    """

    period_s: float
    sleep: Callable[[float], Awaitable[None]] = sleep_until
    now: Callable[[], float] = time.monotonic
    ticks: int = 0
    missed: int = 0
    lateness_s: list[float] = field(default_factory=list)
    _due: float | None = None

    async def tick(self) -> float:
        """Wait for the next period to begin; the time at which it did."""
        if self._due is None:
            began = self.now()
            self._due = began
        else:
            self._due += self.period_s
            await self.sleep(self._due)
            began = self.now()
        late = began - self._due
        self.ticks += 1
        self.lateness_s.append(late)
        if late > LATE_SHARE * self.period_s:
            self.missed += max(1, int(late / self.period_s))
            self._due = began
        return began

    def pause(self) -> None:
        """Nothing is controlled for a while (between episodes): the next tick is due when it is asked for."""
        self._due = None

    @property
    def missed_share(self) -> float:
        """Of the ticks there should have been."""
        return self.missed / max(1, self.ticks + self.missed)

    def lateness_ms(self, *quantiles: float) -> list[float]:
        """How late ticks began, at the given quantiles, in ms; NaN before the first."""
        if not self.lateness_s:
            return [float("nan")] * len(quantiles)
        return [float(q) * 1e3 for q in np.quantile(self.lateness_s, quantiles)]
