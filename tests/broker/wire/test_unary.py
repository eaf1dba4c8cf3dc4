"""One row, one reply: GetGuidance on a clock moved by hand."""

import asyncio

import pytest

from broker.errors import BrokerError, DeadlineReached
from broker.events import AskEnded, AskReceived
from broker.testing import Scripted, settle
from broker.wire.unary import UnaryCalls
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import AskOutcome
from tests.broker.house import House, batch, house

TEN_YEARS_S = 315_360_000.0


def calls(home: House) -> UnaryCalls:
    broker = home.broker
    return UnaryCalls(broker.service, broker.identity, broker.admission, home.clock, broker.emit)


def request(ask: pb.AskBatch, agent: str = "agent", task: str = "task") -> pb.GetGuidanceRequest:
    return pb.GetGuidanceRequest(agent=agent, task=task, ask=ask)


async def guide(home: House, ask: pb.AskBatch, time_left_s: float | None = None) -> pb.AnswerBatch:
    return pb.AnswerBatch.FromString(await calls(home).guide("default", request(ask), time_left_s))


async def test_one_row_gets_one_answer():
    with house() as home:
        answer = await guide(home, batch(7))
        assert (list(answer.ask_id), answer.kind) == ([7], pb.ANSWER_KIND_FINAL)


@pytest.mark.parametrize(("time_left_s", "ends_at"), [(None, 5.0), (TEN_YEARS_S, 5.0), (1.5, 1.5)])
async def test_a_call_without_a_deadline_or_with_an_absurd_one_still_ends(time_left_s, ends_at):
    """A source that never answers is told the time that is really there, too."""
    with house() as home:
        home.source().then(Scripted(never=True))
        task = asyncio.create_task(guide(home, batch(1), time_left_s))
        await settle()
        assert 0 < home.source().calls[0].call.deadline <= ends_at
        await home.clock.advance(ends_at - 0.001)
        assert not task.done()
        await home.clock.advance(0.001)
        with pytest.raises(DeadlineReached):
            await task


async def test_a_caller_that_hangs_up_withdraws_and_a_retry_joins_what_still_runs():
    with house() as home:
        home.source().then(Scripted(latency_s=1.0))
        task = asyncio.create_task(guide(home, batch(1)))
        await home.clock.advance(0.5)
        task.cancel()
        await settle()
        assert [event.outcome for event in home.told(AskEnded)] == [AskOutcome.CANCELLED]
        again = asyncio.create_task(guide(home, batch(1)))
        await home.clock.advance(0.5)
        assert (await again).kind == pb.ANSWER_KIND_FINAL
        assert len(home.source().calls) == 1


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (request(batch(1, 2)), "TOO_MANY_ROWS"),
        (request(batch(1), agent=" "), "MISSING_FIELD"),
        (request(batch(1), task="elsewhere"), "UNKNOWN_TASK"),
        (request(batch(1, hold_steps=3)), "LEASE_NEEDS_SESSION"),
        (request(batch(1, observation=float("nan"))), "NON_FINITE"),
    ],
)
async def test_what_a_unary_call_cannot_be_is_refused_and_counted(asked, reason):
    with house() as home:
        with pytest.raises(BrokerError) as refused:
            await calls(home).guide("default", asked, None)
        assert refused.value.reason_or_default == reason
        assert len(home.told(AskReceived)) == 1
        assert [event.outcome for event in home.told(AskEnded)] == [AskOutcome.CALLER_FAULT]
        assert home.source().calls == []


async def test_an_agent_that_only_calls_once_is_forgotten_with_its_ask():
    with house() as home:
        await guide(home, batch(1))
        assert home.broker.identity.owners == 1
        home.broker.identity.sweep(home.clock.now() + 61.0)
        assert home.broker.identity.owners == 0
