"""The loop's lateness is measured on the broker's clock."""

import asyncio
import contextlib

from broker.events import LoopLagged
from broker.running.loop_lag import watch_loop_lag
from broker.testing import ManualClock


async def test_each_period_tells_how_late_the_loop_woke():
    clock, told = ManualClock(), []
    task = asyncio.create_task(watch_loop_lag(clock, told.append, period_s=0.1))
    await clock.advance(0.1)
    clock._now += 0.25  # the loop is busy past the next wake-up
    await clock.advance(0.0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert [type(event) for event in told] == [LoopLagged, LoopLagged]
    assert told[0].seconds == 0.0
    assert abs(told[1].seconds - 0.15) < 1e-9
