"""Leases: so many steps, each answered and paid for by itself, and every way in which they end."""

import pytest

from broker.events import AnswerDropped, AskEnded, LeaseStepServed
from broker.outcomes import AttemptOutcome
from broker.testing import Scripted
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import AskOutcome, LaneEventKind
from tests.broker.house import FREE_SOURCE, ROUTE, batch, house

PAID = """
[[providers]]
id = "source"
kind = "scripted"
price = { usd_per_ask = 0.01, usd_per_leased_step = 0.001 }
"""


async def test_each_step_is_answered_under_the_ask_that_opened_the_lease():
    with house() as home:
        agent = home.open()
        agent.ask(1, step=10, hold_steps=3)
        for step in (11, 12):
            agent.step(1, step)
        answers = (await agent.after()).answers
        assert [list(answer.step) for answer in answers] == [[10], [11], [12]]
        assert all(list(answer.ask_id) == [1] and answer.leased and answer.ended for answer in answers)
        assert agent.credits_returned == 1
        assert agent.session.in_flight == 0


async def test_the_credit_returns_when_the_lease_ends_and_not_before():
    with house() as home:
        agent = home.open()
        agent.ask(1, hold_steps=2)
        await agent.after()
        assert agent.credits_returned == 0
        agent.step(1, 1)
        await agent.after()
        assert agent.credits_returned == 1


async def test_the_ask_is_paid_once_and_each_served_step_with_one_reservation_for_all():
    with house(ROUTE + PAID) as home:
        agent = home.open()
        agent.ask(1, hold_steps=4)
        await agent.after()
        assert home.charged() == pytest.approx(0.011)
        assert home.reserved() == pytest.approx(0.003)
        agent.step(1, 1)
        prices = [answer.price_usd[0] for answer in (await agent.after()).answers]
        assert prices == [pytest.approx(0.011), pytest.approx(0.001)]
        agent.send(cancels=[pb.Cancel(ask_id=1)])
        await agent.after()
        assert home.charged() == pytest.approx(0.012)
        assert home.reserved() == 0


async def test_a_step_that_failed_costs_nothing_and_the_lease_goes_on():
    with house(ROUTE + PAID) as home:
        home.source().then(Scripted(), Scripted(AttemptOutcome.PROVIDER_FAULT), Scripted())
        agent = home.open()
        agent.ask(1, hold_steps=3)
        await agent.after()
        for step in (1, 2):
            agent.step(1, step)
            await agent.after()
        answers = agent.answers
        assert [answer.kind for answer in answers] == [
            pb.ANSWER_KIND_FINAL,
            pb.ANSWER_KIND_NONE,
            pb.ANSWER_KIND_FINAL,
        ]
        assert answers[1].none_reason == pb.NONE_REASON_NO_GUIDANCE
        assert answers[1].price_usd[0] == 0
        assert home.charged() == pytest.approx(0.012)
        assert agent.credits_returned == 1


async def test_rows_of_many_leases_in_a_message_are_one_call():
    with house() as home:
        agent = home.open(lanes=3)
        agent.ask(1, 2, 3, lanes=[0, 1, 2], hold_steps=2)
        await agent.after()
        rows = batch(1, 2, 3)
        message = pb.LeaseRows(lane=[0, 1, 2], ask_id=[1, 2, 3], step=[1, 1, 1])
        message.observations["obs"].CopyFrom(rows.observations["obs"])
        agent.send(lease_rows=[message])
        await agent.after()
        assert [entry.query.rows for entry in home.source().calls] == [3, 3]
        assert list(agent.answers[1].ask_id) == [1, 2, 3]


@pytest.mark.parametrize(("step", "why"), [(0, "before"), (1, "twice"), (4, "beyond")])
async def test_a_step_out_of_order_twice_or_beyond_the_hold_is_refused_and_the_lease_goes_on(step, why):
    with house() as home:
        agent = home.open()
        agent.ask(1, step=0, hold_steps=4)
        agent.step(1, 1)
        agent.step(1, step)
        failure = (await agent.after()).failures[0]
        assert (failure.reason, failure.field, failure.ended) == ("LEASE_STEP", "lease_rows.step", False)
        agent.step(1, 2)
        assert len((await agent.after()).answers) == 3


async def test_rows_of_no_lease_or_of_another_lane_are_refused():
    with house() as home:
        agent = home.open(lanes=2)
        agent.ask(1, hold_steps=3)
        agent.step(9, 1)
        agent.step(1, 1, lane=1)
        failures = (await agent.after()).failures
        assert [(f.ask_id, f.field) for f in failures] == [
            (9, "lease_rows.ask_id"),
            (1, "lease_rows.lane"),
        ]


def episode_end() -> dict[str, object]:
    return {"episode_ends": [pb.EpisodeEnd(lane=0, episode=1, lane_generation=1)]}


def lane_event(kind: LaneEventKind) -> dict[str, object]:
    return {"lane_events": [pb.LaneEvent(lane=0, kind=int(kind), lane_generation=1)]}


@pytest.mark.parametrize(
    "parts",
    [episode_end(), *(lane_event(kind) for kind in LaneEventKind if kind is not LaneEventKind.ACTIVE)],
)
async def test_a_lane_s_leases_and_their_billing_stop_with_its_reset_fault_pause_takeover_or_new_goal(parts):
    with house(ROUTE + PAID) as home:
        agent = home.open(lanes=2)
        agent.ask(1, 2, lanes=[0, 1], hold_steps=5)
        await agent.after()
        agent.send(**parts)
        agent.step(1, 1)
        agent.step(2, 1, lane=1)
        heard = await agent.after()
        assert [(f.ask_id, f.reason) for f in heard.failures] == [(1, "LEASE_ENDED")]
        assert list(heard.answers[-1].ask_id) == [2]
        assert heard.credits_returned == 1
        assert home.reserved() == pytest.approx(0.003)


async def test_a_lease_ends_when_it_has_been_idle_for_twenty_periods():
    with house(ROUTE + PAID) as home:
        agent = home.open()
        agent.ask(1, hold_steps=50)
        await agent.after(0.9)
        agent.step(1, 1)
        await agent.after(0.999)
        assert agent.credits_returned == 0
        await agent.after(0.901)
        assert agent.credits_returned == 1
        assert home.reserved() == 0


async def test_leases_end_with_their_session():
    with house(ROUTE + PAID) as home:
        agent = home.open()
        agent.ask(1, hold_steps=5)
        await agent.after()
        home.broker.sessions.close(agent.opened, "left")
        assert home.reserved() == 0
        assert home.charged() == pytest.approx(0.011)


async def test_an_answer_for_a_lease_that_has_ended_is_dropped_and_costs_nothing():
    with house(ROUTE + PAID) as home:
        home.source().then(Scripted(), Scripted(latency_s=0.5))
        agent = home.open()
        agent.ask(1, hold_steps=5)
        await agent.after()
        agent.step(1, 1)
        await agent.after()
        agent.send(cancels=[pb.Cancel(ask_id=1)])
        await agent.after(0.5)
        assert len(agent.answers) == 1
        assert home.told(AnswerDropped) == [AnswerDropped("lease_ended", 1)]
        assert home.charged() == pytest.approx(0.011)


async def test_without_budget_for_the_whole_hold_no_lease_is_opened():
    with house("[tenants.default]\nbudget_usd = 0.02\n" + ROUTE + PAID) as home:
        agent = home.open(lanes=2)
        agent.ask(1, 2, lanes=[0, 1], hold_steps=5)
        heard = await agent.after()
        assert [list(answer.ask_id) for answer in heard.answers] == [[1]]
        assert [(f.ask_id, f.reason) for f in heard.failures] == [(2, "OVER_BUDGET")]
        assert heard.credits_returned == 1


async def test_a_source_that_grants_no_leases_says_so():
    with house(ROUTE + FREE_SOURCE + "leasable = false\n") as home:
        agent = home.open()
        agent.ask(1, hold_steps=2, provider_id="source")
        agent.ask(2, hold_steps=2)
        failures = (await agent.after()).failures
        assert [(f.ask_id, f.reason) for f in failures] == [(1, "NOT_LEASABLE"), (2, "NO_LEASE")]


async def test_the_ask_is_counted_once_at_its_first_answer_and_steps_by_themselves():
    with house() as home:
        agent = home.open()
        agent.ask(1, hold_steps=3)
        for step in (1, 2):
            agent.step(1, step)
        await agent.after()
        assert [event.outcome for event in home.told(AskEnded)] == [AskOutcome.ANSWERED]
        assert [event.rows for event in home.told(LeaseStepServed)] == [1, 1]
