"""The machine's clock: never early, on either kind of sleep, whatever the loop."""

import asyncio

import pytest

from broker.clock import SystemClock


def loops():
    yield asyncio.new_event_loop
    try:
        import uvloop
    except ImportError:
        return
    yield uvloop.new_event_loop


@pytest.mark.parametrize("new_loop", list(loops()))
@pytest.mark.parametrize("exactly", [False, True])
def test_a_sleep_never_ends_early(new_loop, exactly):
    clock = SystemClock()

    async def earliness(delay):
        when = clock.now() + delay
        await clock.sleep_until(when, exactly)
        return when - clock.now()

    async def many():
        return await asyncio.gather(*(earliness(0.0003 * i) for i in range(20)))

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert max(runner.run(many())) <= 0


def test_exact_sleepers_of_an_ended_loop_do_not_hold_up_the_next():
    clock = SystemClock()

    async def abandoned():
        task = asyncio.create_task(clock.sleep_until(clock.now() + 0.001, exactly=True))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()

    async def fresh():
        await asyncio.wait_for(clock.sleep_until(clock.now() + 0.001, exactly=True), 5)
        return True

    asyncio.run(abandoned())
    assert asyncio.run(fresh())
