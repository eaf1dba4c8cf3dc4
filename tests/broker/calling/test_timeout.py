"""An attempt ends in time, and whose wish an end was is never mistaken."""

import asyncio

import pytest

from broker.calling.timeout import timed
from broker.outcomes import AttemptOutcome
from broker.providers.interface import ProviderError
from broker.providers.making import Making
from broker.providers.rules import RulesSettings, make_rules
from broker.testing import ManualClock, Scripted, scripted_provider, settle
from broker.timers.alarms import Alarms
from tests.broker.making import TASK, a_call, a_query, a_task


class Stage:
    def __init__(self, *script, timeout_ms=1000):
        self.clock = ManualClock()
        self.alarms = Alarms(self.clock)
        self.source = scripted_provider(clock=self.clock, script=script, timeout_ms=timeout_ms)
        self.layer = timed(self.source, self.clock, self.alarms)

    def ask(self, deadline=1e9):
        return asyncio.create_task(self.layer.guide(a_query(), a_call(deadline)))


@pytest.fixture
async def stage():
    made = []

    def make(*script, **options):
        made.append(Stage(*script, **options))
        return made[-1]

    yield make
    for stage in made:
        await stage.alarms.close()


async def outcome_of(task):
    with pytest.raises(ProviderError) as error:
        await task
    return error.value.outcome


async def test_a_call_is_cut_at_its_source_s_timeout(stage):
    stage = stage(Scripted(never=True), timeout_ms=200)
    task = stage.ask()
    await stage.clock.advance(0.199)
    assert not task.done()
    await stage.clock.advance(0.002)
    assert await outcome_of(task) is AttemptOutcome.DEADLINE
    assert stage.source.calls[0].ended == "cancelled"


async def test_a_call_is_cut_at_the_ask_s_deadline_when_that_is_first(stage):
    stage = stage(Scripted(never=True), timeout_ms=200)
    task = stage.ask(deadline=0.05)
    await stage.clock.advance(0.051)
    assert await outcome_of(task) is AttemptOutcome.DEADLINE


async def test_the_source_is_told_the_time_it_really_has(stage):
    stage = stage(timeout_ms=200)
    await stage.ask(deadline=5.0)
    assert stage.source.calls[0].call.deadline == 0.2


async def test_a_reply_in_time_passes_untouched_and_no_alarm_rings_later(stage):
    stage = stage(Scripted(actions=(0.5,), latency_s=0.1), timeout_ms=200)
    task = stage.ask()
    await stage.clock.advance(0.1)
    guided = await task
    assert guided.guidance.actions.tolist() == [[0.5]]
    await stage.clock.advance(10)
    assert task.done()
    assert not task.cancelled()


async def test_a_call_without_time_left_is_not_made(stage):
    stage = stage()
    assert await outcome_of(stage.ask(deadline=0.0)) is AttemptOutcome.DEADLINE
    assert stage.source.calls == []


async def test_a_cancellation_from_outside_stays_one(stage):
    stage = stage(Scripted(never=True))
    task = stage.ask()
    await settle()
    task.cancel()
    await settle()
    assert task.cancelled()
    assert stage.source.calls[0].ended == "cancelled"


async def test_a_source_that_cancels_itself_is_at_fault(stage):
    stage = stage(Scripted(raises=asyncio.CancelledError()))
    task = stage.ask()
    assert await outcome_of(task) is AttemptOutcome.PROVIDER_FAULT
    assert not task.cancelled()


async def test_a_caller_that_goes_on_after_a_cut_is_not_marked_as_cancelled(stage):
    stage = stage(Scripted(never=True), timeout_ms=100)
    left_over = []

    async def caller():
        try:
            await stage.layer.guide(a_query(), a_call())
        except ProviderError:
            left_over.append(asyncio.current_task().cancelling())
            await stage.clock.sleep_until(stage.clock.now() + 1)
        return "went on"

    task = asyncio.create_task(caller())
    await stage.clock.advance(2)
    assert await task == "went on"
    assert left_over == [0]


async def test_a_source_that_never_waits_gets_no_timeout_layer():
    rule = make_rules(RulesSettings(id="rule", kind="rules"), Making(ManualClock(), {TASK: a_task()}))
    assert timed(rule, ManualClock(), Alarms(ManualClock())) is rule
