"""No source is asked more at once than it can take; the rest wait in order."""

import asyncio

from broker.calling.slots import slots_of, slotted
from broker.outcomes import AttemptOutcome
from broker.providers.interface import Call, Guided
from broker.testing import ManualClock, Scripted, scripted_provider, settle
from protos.types import Query
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


class Halting:
    """A source that answers one row without waiting and takes its time over more."""

    never_waits = False

    def __init__(self, clock: ManualClock) -> None:
        self.inner = scripted_provider(clock=clock, otherwise=Scripted(never=True), max_concurrency=1)
        self.info, self.state = self.inner.info, self.inner.state

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def guide(self, query: Query, call: Call) -> Guided:
        return await self.inner.guide(query, call)

    def answers_now(self, query: Query) -> bool:
        return query.rows == 1

    def guide_now(self, query: Query, call: Call) -> Guided:
        return Guided(AttemptOutcome.NO_GUIDANCE)


async def test_nothing_is_answered_at_once_past_a_source_that_is_full():
    clock = ManualClock()
    source = Halting(clock)
    layer = slotted(source, clock, slots_of(source))
    assert layer.answers_now(a_query(rows=1))
    assert not layer.answers_now(a_query(rows=2))
    task = asyncio.create_task(layer.guide(a_query(rows=2), a_call()))
    await settle()
    assert not layer.answers_now(a_query(rows=1))
    task.cancel()
    await settle()
    assert layer.answers_now(a_query(rows=1))
