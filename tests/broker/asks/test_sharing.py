"""Calls that are shared and answers that are kept: one call, one charge, everyone's own limits."""

import grpc
import pytest

from broker.events import AskEnded, Charged, Saved
from broker.outcomes import AttemptOutcome
from broker.testing import Scripted
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import AskMode, AskOutcome
from tests.broker.house import ROUTE, house

SHARED = """
[[providers]]
id = "source"
kind = "scripted"
coalesce = true
price = { usd_per_ask = 0.004 }
"""
CACHED = SHARED.replace("coalesce", "cache")
WITH_RULE = """
[tasks.task]
route = { strategy = "fixed", providers = ["source"], fallback = "rule" }

[[providers]]
id = "rule"
kind = "scripted"
"""
DEADLINE = grpc.StatusCode.DEADLINE_EXCEEDED.value[0]


async def test_who_joins_a_call_brings_his_own_limits():
    """The first to ask has 300 ms, the second 2 s; the source needs 900 ms."""
    with house(ROUTE + SHARED) as home:
        home.source().then(Scripted(latency_s=0.9))
        first, second = home.open("first"), home.open("second")
        first.ask(1, final_by_ms=300)
        await first.after(0.05)
        second.ask(1, final_by_ms=2000)
        await first.after(0.249)
        assert not first.failures
        assert (await first.after(0.001)).failures[0].code == DEADLINE
        assert not second.answers
        answer = (await second.after(0.601)).answers[0]
        assert answer.kind == pb.ANSWER_KIND_FINAL
        assert answer.cache_status == pb.CACHE_STATUS_COALESCED
        assert [entry.ended for entry in home.source().calls] == ["replied"]


async def test_a_call_is_charged_once_to_who_caused_it_and_its_followers_nothing():
    with house(ROUTE + SHARED) as home:
        home.source().then(Scripted(latency_s=1.0))
        agents = [home.open(name) for name in ("leader", "one", "two")]
        for agent in agents:
            agent.ask(1)
        await agents[0].after(1.0)
        prices = [agent.answers[0].price_usd[0] for agent in agents]
        assert prices == [pytest.approx(0.004), 0.0, 0.0]
        assert len(home.source().calls) == 1
        assert home.charged() == pytest.approx(0.004)
        assert home.reserved() == 0
        assert sum(event.usd for event in home.told(Saved)) == pytest.approx(0.008)
        assert [event.usd for event in home.told(Charged)] == [pytest.approx(0.004)]


async def test_cache_hits_cost_nothing_and_are_counted_as_saved():
    with house(ROUTE + CACHED) as home:
        agent = home.open()
        agent.ask(1)
        await agent.after()
        for ask_id in range(2, 11):
            agent.ask(ask_id, step=ask_id)
        answers = (await agent.after()).answers
        assert [answer.cache_status for answer in answers] == [0] + [pb.CACHE_STATUS_HIT] * 9
        assert sum(price for answer in answers for price in answer.price_usd) == pytest.approx(0.004)
        assert home.charged() == pytest.approx(0.004)
        assert sum(event.usd for event in home.told(Saved)) == pytest.approx(0.036)
        assert [e.outcome for e in home.told(AskEnded)][1:] == [AskOutcome.CACHED] * 9
        assert len(home.source().calls) == 1


async def test_rows_of_one_message_that_ask_the_same_are_one_row_of_the_call():
    with house(ROUTE + SHARED) as home:
        agent = home.open(lanes=3)
        agent.ask(1, 2, 3, lanes=[0, 1, 2])
        answers = (await agent.after()).answers
        assert home.source().calls[0].query.rows == 1
        assert sorted(ask_id for answer in answers for ask_id in answer.ask_id) == [1, 2, 3]
        assert sum(price for answer in answers for price in answer.price_usd) == pytest.approx(0.004)


async def test_tenants_share_nothing():
    with house(ROUTE + SHARED.replace("coalesce = true", "coalesce = true\ncache = true")) as home:
        for tenant in ("default", "other"):
            agent = home.open(tenant=tenant)
            agent.ask(1)
            assert (await agent.after()).answers[0].price_usd[0] == pytest.approx(0.004)
        assert len(home.source().calls) == 2


async def test_only_the_cache_is_asked_in_cache_only():
    with house(ROUTE + CACHED) as home:
        agent = home.open()
        agent.ask(1, mode=AskMode.CACHE_ONLY)
        miss = (await agent.after()).answers[0]
        assert (miss.kind, miss.none_reason) == (pb.ANSWER_KIND_NONE, pb.NONE_REASON_NO_GUIDANCE)
        assert home.source().calls == []
        agent.ask(2)
        await agent.after()
        agent.ask(3, mode=AskMode.CACHE_ONLY)
        assert (await agent.after()).answers[2].cache_status == pb.CACHE_STATUS_HIT


async def test_only_good_answers_are_kept():
    with house(ROUTE + CACHED) as home:
        home.source().then(Scripted(AttemptOutcome.NO_GUIDANCE), Scripted(AttemptOutcome.PROVIDER_FAULT))
        agent = home.open()
        for ask_id in (1, 2, 3, 4):
            agent.ask(ask_id)
            await agent.after()
        assert len(home.source().calls) == 3


async def test_a_fallback_is_marked_and_never_kept_under_another_s_key():
    with house(WITH_RULE + CACHED) as home:
        home.source().then(Scripted(AttemptOutcome.PROVIDER_FAULT))
        agent = home.open()
        agent.ask(1)
        degraded = (await agent.after()).answers[0]
        assert degraded.degraded
        assert degraded.provider_ids == ["rule"]
        agent.ask(2)
        good = (await agent.after()).answers[1]
        assert good.provider_ids == ["source"]
        assert good.cache_status == pb.CACHE_STATUS_UNSPECIFIED
        assert not good.degraded


async def test_a_call_nobody_waits_for_lingers_and_is_then_cancelled():
    with house(ROUTE + SHARED) as home:
        home.source().then(Scripted(never=True))
        agent = home.open()
        agent.ask(1)
        await agent.after()
        home.broker.sessions.close(agent.opened, "left")
        await home.clock.advance(0.299)
        assert home.source().calls[0].ended == "running"
        await home.clock.advance(0.001)
        assert home.source().calls[0].ended == "cancelled"
        assert home.charged() == 0
        assert home.reserved() == 0


@pytest.mark.parametrize(("billed", "charged"), [("true", 0.004), ("false", 0.0)])
async def test_a_cancelled_call_is_charged_where_its_source_bills_cancelled_ones(billed, charged):
    text = SHARED.replace("0.004 }", f"0.004, billed_when_cancelled = {billed} }}")
    with house(ROUTE + text) as home:
        home.source().then(Scripted(never=True))
        agent = home.open()
        agent.ask(1)
        await agent.after()
        agent.send(cancels=[pb.Cancel(ask_id=1)])
        await agent.after()
        assert home.charged() == pytest.approx(charged)
        assert home.reserved() == 0


async def test_without_budget_paid_calls_are_refused_and_free_sources_and_the_cache_still_serve():
    budget = "[tenants.default]\nbudget_usd = 0.005\n"
    with house(budget + WITH_RULE + CACHED) as home:
        agent = home.open()
        agent.ask(1, provider_id="source")
        await agent.after()
        agent.ask(2, provider_id="source", observation=0.1)
        refused = (await agent.after()).failures[0]
        assert (refused.ask_id, refused.reason) == (2, "OVER_BUDGET")
        assert refused.outcome == pb.ASK_OUTCOME_OVER_BUDGET
        agent.ask(3, provider_id="source")
        agent.ask(4, provider_id="rule", observation=0.1)
        agent.ask(5, observation=0.2)
        answers = (await agent.after()).answers
        served = {answer.ask_id[0]: (answer.cache_status, answer.degraded) for answer in answers}
        assert served[3] == (pb.CACHE_STATUS_HIT, False)
        assert served[4] == (0, False)
        assert served[5] == (0, True)
        assert home.charged() == pytest.approx(0.004)


async def test_who_cannot_wait_for_a_shared_call_is_given_the_fallback():
    """It outlasts his clock, so he is not made to fail for having joined it."""
    with house(WITH_RULE + SHARED) as home:
        home.source().then(Scripted(latency_s=2.0))
        agent = home.open()
        agent.ask(1, final_by_ms=500)
        answer = (await agent.after(0.5)).answers[0]
        assert answer.degraded
        assert answer.provider_ids == ["rule"]
        assert home.source().calls[0].ended == "running"
        assert agent.credits_returned == 1
