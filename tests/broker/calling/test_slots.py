"""No source is asked more at once than it can take; the rest wait in order."""

import asyncio

from broker.calling.slots import slots_of, slotted
from broker.testing import ManualClock, Scripted, scripted_provider, settle
from tests.broker.making import a_call, a_query


async def test_calls_beyond_the_limit_wait_their_turn_and_say_how_long():
    clock = ManualClock()
    source = scripted_provider(clock=clock, otherwise=Scripted(latency_s=0.1), max_concurrency=2)
    layer = slotted(source, clock, slots_of(source))
    tasks = [asyncio.create_task(layer.guide(a_query(), a_call())) for _ in range(3)]
    await settle()
    assert source.running == 2
    await clock.advance(0.1)
    assert [task.done() for task in tasks] == [True, True, False]
    await clock.advance(0.1)
    waits = [(await task).queue_us for task in tasks]
    assert waits == [0, 0, 100_000]


async def test_one_that_leaves_the_queue_or_its_call_frees_the_place():
    clock = ManualClock()
    source = scripted_provider(clock=clock, otherwise=Scripted(never=True), max_concurrency=1)
    layer = slotted(source, clock, slots_of(source))
    first, second, third = (asyncio.create_task(layer.guide(a_query(), a_call())) for _ in range(3))
    await settle()
    second.cancel()
    first.cancel()
    await settle()
    assert (len(source.calls), source.running) == (2, 1)
    third.cancel()
    await settle()
    assert source.running == 0


async def test_two_layers_around_one_source_share_its_slots():
    clock = ManualClock()
    source = scripted_provider(clock=clock, otherwise=Scripted(never=True), max_concurrency=1)
    slots = slots_of(source)
    tasks = [asyncio.create_task(slotted(source, clock, slots).guide(a_query(), a_call())) for _ in range(2)]
    await settle()
    assert source.running == 1
    for task in tasks:
        task.cancel()
    await settle()


def test_a_source_without_a_limit_gets_no_layer():
    source = scripted_provider(max_concurrency=0)
    assert slotted(source, ManualClock(), slots_of(source)) is source
