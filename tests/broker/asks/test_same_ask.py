"""The same ask, asked again: it runs once and is charged once, whichever way the retry comes."""

import pytest

from broker.asks.identity import IdentityTable, Running, bodies_of
from broker.outcomes import AttemptOutcome
from broker.testing import Scripted
from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from tests.broker.house import ROUTE, batch, house

PAID = """
[[providers]]
id = "source"
kind = "scripted"
price = { usd_per_ask = 0.004 }
"""


async def test_a_retry_joins_the_running_call_from_a_new_session_and_finds_the_answer_afterwards():
    """The connection is cut before the reply; the agent asks again 100 ms later, and once more at the end."""
    with house(ROUTE + PAID) as home:
        home.source().then(Scripted(latency_s=1.0, actions=(0.75,)))
        before = home.open()
        before.ask(1)
        await before.after(0.2)
        home.broker.sessions.close(before.opened, "cut")
        await home.clock.advance(0.1)
        after = home.open()
        after.ask(1)
        answer = (await after.after(0.7)).answers[0]
        assert answer.price_usd[0] == pytest.approx(0.004)
        assert answer.session_generation == after.session.terms.generation
        after.ask(1)
        again = (await after.after()).answers[1]
        assert list(again.ask_id) == [1]
        assert again.guidance == answer.guidance
        assert len(home.source().calls) == 1
        assert home.charged() == pytest.approx(0.004)
        assert after.credits_returned == 2


async def test_a_retry_in_a_message_with_other_rows_is_still_the_same_ask():
    with house(ROUTE + PAID) as home:
        agent = home.open(lanes=3)
        agent.ask(1, 2, lanes=[0, 1])
        await agent.after()
        agent.ask(2, 3, lanes=[1, 2])
        await agent.after()
        asked = [list(entry.query.ask_ids) for entry in home.source().calls]
        assert asked == [[1, 2], [3]]
        answered = sorted(ask_id for answer in agent.answers for ask_id in answer.ask_id)
        assert answered == [1, 2, 2, 3]
        assert home.charged() == pytest.approx(0.012)


async def test_the_same_ask_twice_in_one_message_runs_once_and_is_answered_twice():
    with house(ROUTE + PAID) as home:
        home.source().then(Scripted(latency_s=1.0, actions=(0.75,)))
        agent = home.open()
        agent.ask(1, 1, lanes=[0, 0])
        await agent.after(1.1)
        assert [ask_id for answer in agent.answers for ask_id in answer.ask_id] == [1, 1]
        assert [list(call.query.ask_ids) for call in home.source().calls] == [[1]]
        assert home.charged() == pytest.approx(0.004)
        assert agent.credits_returned == 2


async def test_one_id_for_two_bodies_in_one_message_is_refused_for_the_second():
    with house(ROUTE + PAID) as home:
        agent = home.open(lanes=2)
        agent.ask(1, 1, lanes=[0, 1])
        await agent.after()
        assert [failure.reason for failure in agent.failures] == ["ASK_ID_REUSED"]
        assert [ask_id for answer in agent.answers for ask_id in answer.ask_id] == [1]


@pytest.mark.parametrize("running", [True, False])
async def test_the_same_id_with_another_body_is_refused(running):
    with house(ROUTE + PAID) as home:
        home.source().then(Scripted(latency_s=1.0))
        agent = home.open()
        agent.ask(1)
        await agent.after(0.0 if running else 1.0)
        agent.ask(1, observation=0.25)
        failure = (await agent.after()).failures[0]
        assert (failure.reason, failure.field) == ("ASK_ID_REUSED", "ask_id")
        assert len(home.source().calls) == 1


async def test_another_agent_s_id_is_another_ask():
    with house(ROUTE + PAID) as home:
        for name in ("one", "two"):
            home.open(name).ask(1)
        await home.clock.advance(0.0)
        assert len(home.source().calls) == 2


async def test_an_answer_is_kept_for_sixty_seconds():
    with house(ROUTE + PAID) as home:
        agent = home.open()
        agent.ask(1)
        await agent.after(59.9)
        agent.ask(1)
        await agent.after(0.2)
        assert len(home.source().calls) == 1
        agent.ask(1)
        await agent.after()
        assert len(home.source().calls) == 2


async def test_an_ask_that_failed_may_be_tried_again():
    with house(ROUTE + PAID) as home:
        home.source().then(Scripted(AttemptOutcome.PROVIDER_FAULT))
        agent = home.open()
        agent.ask(1)
        assert (await agent.after()).failures[0].reason == "NO_SOURCE_AVAILABLE"
        agent.ask(1)
        assert (await agent.after()).answers[0].kind == pb.ANSWER_KIND_FINAL


def bodies(message: pb.AskBatch) -> list[int]:
    return bodies_of(codec.query_from_proto(message, 10))


def test_a_row_s_body_is_the_same_in_any_message():
    assert bodies(batch(1, 2, lanes=[3, 4])) == bodies(batch(1, lanes=[3])) + bodies(batch(2, lanes=[4]))


@pytest.mark.parametrize("other", [{"step": 1}, {"episode": 2}, {"observation": 0.4}, {"hold_steps": 3}])
def test_what_is_asked_is_the_body(other):
    assert bodies(batch(1)) != bodies(batch(1, **other))


def test_clocks_are_no_part_of_the_body():
    """A retry has less time left than the first try had."""
    assert bodies(batch(1, final_by_ms=900)) == bodies(batch(1, final_by_ms=400))


def test_the_table_is_bounded_in_rows_and_forgets_free_asks_before_paid_ones():
    table = IdentityTable(ttl_s=60.0, max_rows=3)
    owner = table.hold("tenant", "agent")
    table.ended(owner, [100], [0], b"paid", now=0.0, paid=True)
    for ask_id in range(10):
        table.ended(owner, [ask_id], [0], b"free", now=0.0, paid=False)
    assert table.ended_rows == 4
    assert set(owner.known) == {100, 7, 8, 9}


def test_ten_thousand_agents_that_come_and_go_leave_nothing_behind():
    table = IdentityTable(ttl_s=60.0, max_rows=1000)
    for number in range(10_000):
        owner = table.hold("tenant", f"agent-{number}")
        table.started(owner, 1, Running(None, 0, 0, True))
        table.ended(owner, [1], [0], b"answer", now=float(number), paid=False)
        table.let_go(owner)
    assert table.owners <= 61
    last = table.hold("tenant", "last")
    table.ended(last, [1], [0], b"answer", now=1e6, paid=False)
    assert table.owners == 1
