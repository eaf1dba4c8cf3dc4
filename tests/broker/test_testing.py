"""The shipped fakes keep their word."""

import asyncio

import numpy as np
import pytest

from broker.outcomes import AttemptOutcome
from broker.providers.interface import ProviderError
from broker.testing import ManualClock, Scripted, scripted_provider, settle
from tests.broker.making import a_call, a_query


async def test_sleepers_wake_in_the_order_of_their_times():
    clock, woken = ManualClock(), []

    async def sleeper(when):
        await clock.sleep_until(when)
        woken.append((when, clock.now()))

    tasks = [asyncio.create_task(sleeper(when)) for when in (3.0, 1.0, 2.0)]
    await clock.advance(2.5)
    assert woken == [(1.0, 1.0), (2.0, 2.0)]
    assert clock.sleepers == 1
    await clock.advance(0.5)
    await asyncio.gather(*tasks)
    assert woken[-1] == (3.0, 3.0)


async def test_a_sleeper_that_sets_another_alarm_is_woken_again_within_one_advance():
    clock = ManualClock()

    async def twice():
        await clock.sleep_until(1.0)
        await clock.sleep_until(clock.now() + 1.0)
        return clock.now()

    task = asyncio.create_task(twice())
    await clock.advance(5.0)
    assert await task == 2.0


async def test_wall_time_moves_with_the_clock():
    clock = ManualClock(start=5.0, wall=1000.0)
    await clock.advance(2.0)
    assert (clock.now(), clock.wall()) == (7.0, 1002.0)


async def test_a_script_is_followed_in_order_and_logged():
    clock = ManualClock()
    failing = Scripted(AttemptOutcome.RATE_LIMITED, retry_after_ms=20)
    provider = scripted_provider(clock=clock, script=[Scripted(actions=(0.5, 1.0)), failing])
    first = await provider.guide(a_query(rows=2), a_call())
    assert np.array_equal(first.guidance.actions, np.array([[0.5, 1.0]] * 2, np.float32))
    with pytest.raises(ProviderError) as error:
        await provider.guide(a_query(), a_call())
    assert (error.value.outcome, error.value.retry_after_ms) == (AttemptOutcome.RATE_LIMITED, 20)
    assert (await provider.guide(a_query(), a_call())).outcome is AttemptOutcome.OK
    assert [entry.ended for entry in provider.calls] == ["replied", "failed", "replied"]


async def test_a_cancelled_call_is_logged_as_cancelled():
    clock = ManualClock()
    provider = scripted_provider(clock=clock, script=[Scripted(never=True)])
    task = asyncio.create_task(provider.guide(a_query(), a_call()))
    await settle()
    assert provider.running == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (provider.calls[0].ended, provider.running) == ("cancelled", 0)
