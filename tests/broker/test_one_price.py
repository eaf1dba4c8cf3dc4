"""What callers are told they paid, what the ledger holds and what the metrics show is one number."""

import asyncio

import pytest

from broker.events import Charged
from broker.outcomes import AttemptOutcome
from broker.providers.interface import Usage
from broker.testing import Scripted
from protos.guidance.v1 import guidance_pb2 as pb
from tests.broker.house import House, house
from tests.broker.metrics.test_counts import scraped

FIRST_THEN_SECOND = """
[tasks.task]
route = { strategy = "fixed", providers = ["first", "second"] }
[[providers]]
id = "second"
kind = "scripted"
price = { usd_per_ask = 0.002 }
"""
FIRST = """
[[providers]]
id = "first"
kind = "scripted"
timeout_ms = 100
price = { usd_per_ask = 0.004, usd_per_leased_step = 0.001, billed_when_cancelled = true }
"""
UNBILLED = FIRST.replace("true", "false")
NEVER = Scripted(never=True)


def told(home: House, *agents) -> float:
    """What the callers' answers add up to; the ledger and the metrics must say as much."""
    ledger = home.charged()
    samples = scraped(home.broker.metrics.exposition())
    shown = sum(value for key, value in samples.items() if key[0] == "guidance_charged_usd_total")
    assert shown == pytest.approx(ledger, abs=1e-12)
    assert sum(event.usd for event in home.told(Charged)) == pytest.approx(ledger, abs=1e-12)
    assert home.reserved() == 0.0
    return sum(usd for agent in agents for answer in agent.answers for usd in answer.price_usd)


@pytest.mark.parametrize(
    ("first", "reply", "price"),
    [
        (FIRST, NEVER, 0.006),  # cut by its timeout, and billed
        (UNBILLED, NEVER, 0.002),
        (FIRST, Scripted(raises=asyncio.CancelledError()), 0.006),  # by itself: the source did start
        (FIRST, Scripted(AttemptOutcome.DEADLINE), 0.006),
        (FIRST, Scripted(AttemptOutcome.CANCELLED), 0.006),
        (UNBILLED, Scripted(AttemptOutcome.CANCELLED), 0.002),
        (FIRST, Scripted(AttemptOutcome.PROVIDER_FAULT), 0.002),
        (FIRST, Scripted(AttemptOutcome.RATE_LIMITED), 0.002),
        (FIRST, Scripted(AttemptOutcome.NO_GUIDANCE), 0.006),
        (FIRST, Scripted(AttemptOutcome.REFUSED, usage=Usage(price_usd=0.003)), 0.005),
        (FIRST, Scripted(AttemptOutcome.INVALID, usage=Usage(price_usd=-1.0)), 0.006),
        (FIRST, Scripted(usage=Usage(price_usd=0.001)), 0.001),
    ],
)
async def test_the_answer_s_price_is_all_that_was_charged_for_it(first, reply, price):
    with house(FIRST_THEN_SECOND + first) as home:
        home.source("first").then(reply)
        agent = home.open()
        agent.ask(1)
        await agent.after(0.2)
        assert agent.answers[0].kind == pb.ANSWER_KIND_FINAL
        assert told(home, agent) == pytest.approx(price)
        assert home.charged() == pytest.approx(price)


async def test_the_rows_of_a_call_share_what_it_cost():
    with house(FIRST_THEN_SECOND + FIRST) as home:
        home.source("first").then(NEVER)
        agent = home.open(lanes=3)
        agent.ask(1, 2, 3, lanes=[0, 1, 2])
        await agent.after(0.2)
        assert list(agent.answers[0].price_usd) == [pytest.approx(0.006)] * 3
        assert told(home, agent) == pytest.approx(home.charged()) == pytest.approx(0.018)


async def test_who_waits_for_a_place_in_vain_pays_nothing_for_it():
    one_at_a_time = FIRST + "max_concurrency = 1\n"
    with house(FIRST_THEN_SECOND + one_at_a_time) as home:
        home.source("first").then(NEVER, NEVER)
        agents = [home.open(name) for name in ("one", "two")]
        for agent in agents:
            agent.ask(1)
        await agents[0].after(0.2)
        assert [agent.answers[0].price_usd[0] for agent in agents] == [
            pytest.approx(0.006),
            pytest.approx(0.002),
        ]
        assert told(home, *agents) == pytest.approx(home.charged())


async def test_nothing_usable_still_costs_what_was_charged():
    with house(FIRST_THEN_SECOND + FIRST) as home:
        home.source("first").then(Scripted(AttemptOutcome.NO_GUIDANCE))
        home.source("second").then(Scripted(AttemptOutcome.PROVIDER_FAULT))
        agent = home.open()
        agent.ask(1)
        await agent.after(0.2)
        assert agent.answers[0].kind == pb.ANSWER_KIND_NONE
        assert told(home, agent) == pytest.approx(home.charged()) == pytest.approx(0.004)


@pytest.mark.parametrize(("first", "charged"), [(FIRST, 0.004), (UNBILLED, 0.0)])
async def test_a_cancelled_ask_is_charged_where_its_source_bills_it_and_is_told_no_price(first, charged):
    """A failure carries no price: what a call costs that is cut later is in the ledger and the metrics."""
    with house(FIRST_THEN_SECOND + first) as home:
        home.source("first").then(NEVER)
        agent = home.open()
        agent.ask(1)
        await agent.after(0.05)
        agent.send(cancels=[pb.Cancel(ask_id=1)])
        await agent.after()
        assert [failure.reason for failure in agent.failures] == ["CANCELLED"]
        assert told(home, agent) == 0.0
        assert home.charged() == pytest.approx(charged)


@pytest.mark.parametrize(("first", "charged"), [(FIRST, 0.004), (UNBILLED, 0.0)])
async def test_an_ask_whose_clock_ends_is_charged_once_where_its_source_bills_it(first, charged):
    with house(FIRST_THEN_SECOND + first) as home:
        home.source("first").then(NEVER)
        agent = home.open()
        agent.ask(1, final_by_ms=50)
        await agent.after(1.0)
        assert [failure.reason for failure in agent.failures] == ["DEADLINE_REACHED"]
        assert told(home, agent) == 0.0
        assert home.charged() == pytest.approx(charged)


async def test_a_source_listed_as_free_charges_nothing_whatever_it_states():
    free = FIRST.split("price")[0]
    with house(FIRST_THEN_SECOND + free) as home:
        home.source("first").then(Scripted(usage=Usage(price_usd=0.5)))
        agent = home.open()
        agent.ask(1)
        await agent.after()
        assert told(home, agent) == home.charged() == 0.0


async def test_an_ask_repeated_while_and_after_its_call_runs_is_charged_once():
    with house(FIRST_THEN_SECOND + FIRST) as home:
        home.source("first").then(Scripted(latency_s=0.05))
        agent = home.open()
        agent.ask(1)
        await agent.after(0.01)
        again = home.open()
        again.ask(1)
        await again.after(0.1)
        again.ask(1)
        await again.after()
        assert [list(answer.price_usd) for answer in again.answers] == [[pytest.approx(0.004)]] * 2
        assert told(home, agent) == 0.0
        assert home.charged() == pytest.approx(0.004)


async def test_steps_of_a_lease_that_are_cut_or_fail_cost_nothing_and_the_others_their_price():
    with house(FIRST_THEN_SECOND + FIRST) as home:
        home.source("first").then(Scripted(), NEVER, Scripted(AttemptOutcome.NO_GUIDANCE), Scripted())
        agent = home.open()
        agent.ask(1, hold_steps=4, final_by_ms=5000)
        await agent.after(0.15)
        for step in (1, 2, 3):
            agent.step(1, step)
            await agent.after(0.15)
        prices = [answer.price_usd[0] for answer in agent.answers]
        assert prices == [pytest.approx(0.005), 0.0, 0.0, pytest.approx(0.001)]
        assert told(home, agent) == pytest.approx(home.charged()) == pytest.approx(0.006)
