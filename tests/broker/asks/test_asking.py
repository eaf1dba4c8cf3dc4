"""What a session's asks get, on a clock moved by hand: answers, clocks, cancels, retries."""

import grpc
import pytest

from broker.events import AskEnded, AskReceived, InvalidInput, LateAnswerSent
from broker.outcomes import AttemptOutcome
from broker.testing import Scripted
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import AskMode, AskOutcome, GuidanceKind
from tests.broker.house import FREE_SOURCE, ROUTE, batch, house

SLOW = Scripted(latency_s=2.0, actions=(0.25,))
NEVER = Scripted(never=True)
DEADLINE = grpc.StatusCode.DEADLINE_EXCEEDED.value[0]


async def test_every_row_gets_its_own_answer_with_its_whole_address():
    with house() as home:
        agent = home.open(lanes=2)
        agent.ask(7, 8, lanes=[0, 1], episode=3, step=5)
        answer = (await agent.after()).answers[0]
    assert answer.kind == pb.ANSWER_KIND_FINAL
    assert list(answer.ask_id) == [7, 8]
    assert list(answer.lane) == [0, 1]
    assert list(answer.episode) == [3, 3]
    assert list(answer.step) == [5, 5]
    assert list(answer.lane_generation) == [0, 0]
    assert list(answer.seq) == [1, 2]
    assert answer.session_generation == agent.session.terms.generation
    assert answer.provider_ids == ["source"]
    assert answer.ended


async def test_rows_of_a_message_are_one_call():
    with house() as home:
        agent = home.open(lanes=3)
        agent.ask(1, 2, 3, lanes=[0, 1, 2])
        await agent.after()
        assert [entry.query.rows for entry in home.source().calls] == [3]


async def test_the_first_clock_says_nothing_yet_and_the_answer_still_comes():
    with house() as home:
        home.source().then(SLOW)
        agent = home.open()
        agent.ask(1, first_answer_by_ms=500)
        assert not (await agent.after(0.499)).answers
        told = (await agent.after(0.001)).answers[0]
        assert (told.kind, told.none_reason) == (pb.ANSWER_KIND_NONE, pb.NONE_REASON_TIMEOUT)
        assert told.pending
        assert not told.ended
        assert agent.credits_returned == 0
        final = (await agent.after(1.5)).answers[1]
        assert final.kind == pb.ANSWER_KIND_FINAL
        assert agent.credits_returned == 1
        assert home.told(LateAnswerSent) == [LateAnswerSent("final", "source")]


async def test_the_final_clock_ends_the_ask():
    with house() as home:
        home.source().then(NEVER)
        agent = home.open()
        agent.ask(1, final_by_ms=300)
        assert not (await agent.after(0.299)).failures
        failure = (await agent.after(0.001)).failures[0]
        assert (failure.ask_id, failure.code, failure.reason) == (1, DEADLINE, "DEADLINE_REACHED")
        assert failure.ended
        assert agent.credits_returned == 1


@pytest.mark.parametrize(("asked_ms", "granted_s"), [(None, 5.0), (60_000, 5.0), (2_000, 2.0)])
async def test_a_final_clock_that_is_not_given_or_too_long_is_the_cap(asked_ms, granted_s):
    with house() as home:
        home.source().then(NEVER)
        agent = home.open()
        agent.ask(1, final_by_ms=asked_ms, first_answer_by_ms=5_000)
        assert not (await agent.after(granted_s - 0.001)).failures
        assert (await agent.after(0.001)).failures[0].code == DEADLINE


async def test_an_explicit_cancel_acts_at_once():
    with house() as home:
        home.source().then(NEVER)
        agent = home.open()
        agent.ask(1)
        await agent.after()
        agent.send(cancels=[pb.Cancel(lane=0, ask_id=1)])
        await agent.after()
        assert home.source().calls[0].ended == "cancelled"
        assert agent.failures[0].outcome == pb.ASK_OUTCOME_CANCELLED
        assert agent.credits_returned == 1


async def test_a_cancel_of_one_row_leaves_the_call_to_the_others():
    with house() as home:
        home.source().then(SLOW)
        agent = home.open(lanes=2)
        agent.ask(1, 2, lanes=[0, 1])
        await agent.after()
        agent.send(cancels=[pb.Cancel(lane=0, ask_id=1)])
        heard = await agent.after(2.0)
        assert [list(answer.ask_id) for answer in heard.answers] == [[2]]
        assert home.source().calls[0].ended == "replied"


async def test_a_source_that_cancels_itself_gets_its_caller_a_definite_answer_soon():
    import asyncio

    with house() as home:
        home.source().then(Scripted(latency_s=0.1, raises=asyncio.CancelledError()))
        agent = home.open()
        agent.ask(1)
        failure = (await agent.after(0.1)).failures[0]
        assert failure.reason == "NO_SOURCE_AVAILABLE"
        assert agent.credits_returned == 1


async def test_a_source_without_guidance_is_a_none_with_its_reason():
    with house() as home:
        home.source().then(Scripted(AttemptOutcome.NO_GUIDANCE), Scripted(AttemptOutcome.REFUSED))
        agent = home.open()
        agent.ask(1)
        await agent.after()
        agent.ask(2)
        answers = (await agent.after()).answers
        reasons = [answer.none_reason for answer in answers]
        assert reasons == [pb.NONE_REASON_NO_GUIDANCE, pb.NONE_REASON_REFUSED]
        assert [e.outcome for e in home.told(AskEnded)] == [AskOutcome.NONE, AskOutcome.NONE]


@pytest.mark.parametrize(
    ("options", "reason", "field"),
    [
        ({"mode": AskMode.PREDICT_ONLY}, "NOT_SERVED", "options.mode"),
        ({"kinds": frozenset({GuidanceKind.RESIDUAL})}, "NOT_SERVED", "options.kinds"),
        ({"provider_id": "nobody"}, "UNKNOWN_PROVIDER", "options.provider_id"),
        ({"hold_steps": 100_000}, "INVALID_REQUEST", "options.hold_steps"),
    ],
)
async def test_what_is_not_served_is_refused_by_name_and_reaches_no_source(options, reason, field):
    with house() as home:
        agent = home.open()
        agent.ask(1, **options)
        failure = (await agent.after()).failures[0]
        assert (failure.reason, failure.field) == (reason, field)
        assert failure.outcome == pb.ASK_OUTCOME_CALLER_FAULT
        assert home.source().calls == []


async def test_a_number_that_is_not_finite_costs_its_own_row_only():
    with house() as home:
        agent = home.open(lanes=3)
        message = batch(1, 2, 3, lanes=[0, 1, 2])
        data = bytearray(message.observations["obs"].data)
        data[12:16] = b"\x00\x00\xc0\x7f"  # row 1, index 1: NaN
        message.observations["obs"].data = bytes(data)
        agent.send(asks=[message])
        heard = await agent.after()
        assert [failure.ask_id for failure in heard.failures] == [2]
        assert heard.failures[0].reason == "NON_FINITE"
        assert "row 1, index [1]" in heard.failures[0].message
        assert [list(answer.ask_id) for answer in heard.answers] == [[1, 3]]
        assert home.source().calls[0].query.rows == 2
        assert home.told(InvalidInput) == [InvalidInput("NON_FINITE")]
        assert agent.credits_returned == 3


async def test_a_tensor_that_was_not_declared_so_is_refused():
    with house() as home:
        agent = home.open()
        message = batch(1)
        message.observations["obs"].dtype = pb.DATA_TYPE_INT32
        agent.send(asks=[message])
        failure = (await agent.after()).failures[0]
        assert failure.field == "observations[obs]"
        assert "declared is float32 [2]" in failure.message
        assert home.source().calls == []


async def test_asks_beyond_the_credits_are_shed_with_a_hint():
    with house("[server]\ncredits = 2\n" + ROUTE + FREE_SOURCE) as home:
        home.source().then(SLOW)
        agent = home.open(lanes=3)
        agent.ask(1, 2, 3, lanes=[0, 1, 2])
        failure = (await agent.after()).failures[0]
        assert (failure.ask_id, failure.reason) == (3, "NO_CREDIT")
        assert failure.retry_after_ms > 0
        assert (await agent.after(2.0)).credits_returned == 3


async def test_every_ask_is_received_once_and_ended_once_whatever_becomes_of_it():
    with house() as home:
        home.source().then(SLOW, Scripted(AttemptOutcome.PROVIDER_FAULT), NEVER, NEVER)
        agent = home.open()
        agent.ask(1)
        agent.ask(2)
        agent.ask(3, final_by_ms=100)
        agent.ask(4)
        agent.ask(5, mode=AskMode.PREDICT_ONLY)
        agent.ask(6, episode=9)
        await agent.after(2.0)
        home.broker.sessions.close(agent.opened, "left")
        received = sum(event.rows for event in home.told(AskReceived))
        ended = [event.outcome for event in home.told(AskEnded) for _ in range(event.rows)]
        assert received == 6
        assert sorted(ended) == sorted(
            [
                AskOutcome.ANSWERED,
                AskOutcome.UNAVAILABLE,
                AskOutcome.DEADLINE,
                AskOutcome.CANCELLED,
                AskOutcome.CALLER_FAULT,
                AskOutcome.CALLER_FAULT,
            ]
        )
        assert home.broker.admission.in_flight == 0
