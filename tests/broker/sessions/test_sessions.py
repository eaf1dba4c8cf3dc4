"""Lanes, episodes, generations, and sessions that come and go."""

import pytest

from broker.errors import BrokerError
from broker.events import AnswerDropped, AskEnded, SessionClosed
from broker.testing import Scripted
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import AskOutcome, LaneEventKind
from tests.broker.house import FREE_SOURCE, ROUTE, house

SLOW = Scripted(latency_s=1.0)


async def test_a_second_open_episode_on_a_lane_is_refused_for_its_row_only():
    with house() as home:
        agent = home.open(lanes=2)
        agent.ask(1, episode=1)
        agent.ask(2, episode=2)
        agent.ask(3, episode=2, lanes=[1])
        heard = await agent.after()
        assert [(f.ask_id, f.reason) for f in heard.failures] == [(2, "EPISODE_OPEN")]
        assert sorted(answer.ask_id[0] for answer in heard.answers) == [1, 3]


async def test_an_episode_begins_with_its_first_ask_once_the_one_before_has_ended():
    with house() as home:
        agent = home.open()
        agent.ask(1, episode=1)
        agent.send(episode_ends=[pb.EpisodeEnd(lane=0, episode=1, lane_generation=1)])
        agent.ask(2, episode=2, generation=1)
        agent.ask(3, episode=1, generation=1)
        heard = await agent.after()
        assert sorted(answer.ask_id[0] for answer in heard.answers if answer.episode[0] == 2) == [2]
        assert [(f.ask_id, f.reason) for f in heard.failures] == [(3, "EPISODE_OPEN")]


async def test_an_answer_for_an_ended_episode_is_dropped_and_counted_and_its_credit_returns():
    with house() as home:
        home.source().then(SLOW)
        agent = home.open()
        agent.ask(1, episode=1)
        await agent.after()
        agent.send(episode_ends=[pb.EpisodeEnd(lane=0, episode=1, lane_generation=1)])
        heard = await agent.after(1.0)
        assert not heard.answers
        assert heard.credits_returned == 1
        assert home.told(AnswerDropped) == [AnswerDropped("stale_generation", 1)]
        assert [event.outcome for event in home.told(AskEnded)] == [AskOutcome.CANCELLED]


@pytest.mark.parametrize("kind", [LaneEventKind.FAULT, LaneEventKind.TAKEOVER, LaneEventKind.GOAL_CHANGED])
async def test_what_belongs_to_an_older_generation_is_dropped(kind):
    with house() as home:
        home.source().then(SLOW)
        agent = home.open(lanes=2)
        agent.ask(1, 2, lanes=[0, 1])
        await agent.after()
        agent.send(lane_events=[pb.LaneEvent(lane=0, kind=int(kind), lane_generation=1)])
        heard = await agent.after(1.0)
        assert [list(answer.ask_id) for answer in heard.answers] == [[2]]
        assert heard.credits_returned == 2


async def test_an_ask_of_an_older_generation_is_not_answered():
    with house() as home:
        agent = home.open()
        agent.send(lane_events=[pb.LaneEvent(lane=0, kind=int(LaneEventKind.TAKEOVER), lane_generation=3)])
        agent.ask(1, generation=2)
        assert [f.reason for f in (await agent.after()).failures] == ["STALE_GENERATION"]
        assert home.source().calls == []


async def test_a_lane_that_was_not_declared_is_refused():
    with house() as home:
        agent = home.open(lanes=1)
        agent.ask(1, lanes=[5])
        assert [(f.reason, f.field) for f in (await agent.after()).failures] == [("UNKNOWN_LANE", "lane")]


async def test_an_agent_that_comes_back_gets_a_higher_generation_and_nothing_of_before():
    with house() as home:
        home.source().then(SLOW)
        before = home.open("agent")
        before.ask(1)
        await before.after()
        after = home.open("agent")
        await after.after(1.0)
        assert after.session.terms.generation > before.session.terms.generation
        assert not after.answers
        assert not before.answers
        assert before.opened.ended_by is not None
        assert before.opened.ended_by.reason == "SUPERSEDED"
        assert [event.why for event in home.told(SessionClosed)] == ["superseded"]
        assert len(home.broker.sessions) == 1


async def test_generations_rise_over_restarts_of_the_broker():
    """They start from the wall clock, which a restart does not set back."""
    with house() as home:
        assert home.open().session.terms.generation >= home.clock.wall() * 1000


async def test_the_table_of_sessions_is_bounded():
    with house("[server]\nmax_sessions = 2\n" + ROUTE + FREE_SOURCE) as home:
        home.open("one")
        home.open("two")
        with pytest.raises(BrokerError) as refused:
            home.open("three")
        assert refused.value.reason == "TOO_MANY_SESSIONS"
        home.open("two")
        assert len(home.broker.sessions) == 2


async def test_hundreds_of_agents_that_come_and_go_leave_no_session_behind():
    with house() as home:
        for number in range(300):
            agent = home.open(f"agent-{number}")
            agent.ask(1)
            home.broker.sessions.close(agent.opened, "left")
        await home.clock.advance(1.0)
        assert len(home.broker.sessions) == 0
        assert home.broker.flights.under_way == 0
        await home.clock.advance(100.0)
        home.broker.identity.sweep(home.clock.now())
        assert home.broker.identity.owners == 0


async def test_a_revoked_token_ends_its_session():
    with house() as home:
        agent = home.open()
        home.broker.sessions.reloaded(lambda grant: False)
        assert agent.session.closed
        assert agent.opened.ended_by.default_reason == "UNAUTHENTICATED"


async def test_draining_refuses_new_sessions_and_new_asks():
    with house() as home:
        agent = home.open()
        home.broker.admission.draining = home.broker.sessions.draining = True
        agent.ask(1)
        assert [f.reason for f in (await agent.after()).failures] == ["DRAINING"]
        with pytest.raises(BrokerError) as refused:
            home.open("late")
        assert refused.value.reason == "DRAINING"
