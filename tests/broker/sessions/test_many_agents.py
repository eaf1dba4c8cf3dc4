"""Agents that come and go without end: what is held of them is bounded, and goes."""

import asyncio

from protos.guidance.v1 import guidance_pb2 as pb
from tests.broker.house import FREE_SOURCE, ROUTE, House, house

AGENTS = 10_000
GROWTH_MB = 20.0
TTL_S = 60.0


def resident_mb() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


async def live_and_leave(home: House, number: int, asks: bool) -> None:
    """One life: a session, an episode, perhaps an ask; then the process is gone."""
    agent = home.open(f"agent-{number}")
    agent.send(episode_starts=[pb.EpisodeStart(lane=0, episode=0)])
    if asks:
        agent.ask(1, episode=0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    home.broker.sessions.close(agent.opened, "client_left")
    home.events.clear()


async def test_ten_thousand_agents_with_a_fresh_name_each_leave_nothing_behind():
    """Every tenth asks, so that something is to be remembered; 100 of them come in a second."""
    with house() as home:
        broker, remembered, shown = home.broker, 0, 0
        for number in range(AGENTS):
            await live_and_leave(home, number, asks=number % 10 == 0)
            if number % 500 == 499:
                await home.clock.advance(5.0)
                home.source().calls.clear()
                remembered = max(remembered, broker.identity.owners)
            if number == 1_999:
                before, shown = resident_mb(), len(broker.metrics.exposition())
        assert resident_mb() - before < GROWTH_MB
        assert remembered <= 10 * (TTL_S + 5.0)  # ten asks a second, remembered for so long
        assert len(broker.metrics.exposition()) < shown + 1_000  # no label is an agent's name
        await home.clock.advance(TTL_S + 1.0)
        broker.identity.sweep(home.clock.now())
        assert (broker.identity.owners, broker.identity.ended_rows) == (0, 0)
        assert (len(broker.sessions), broker.flights.under_way, broker.admission.in_flight) == (0, 0, 0)
        assert len(broker.alarms) == 0


async def test_lives_that_overlap_are_kept_apart_and_their_table_is_as_large_as_they_are_many():
    with house("[server]\nmax_sessions = 300\n" + ROUTE + FREE_SOURCE) as home:
        agents = [home.open(f"agent-{number}") for number in range(300)]
        for number, agent in enumerate(agents):
            agent.ask(number + 1, observation=0.25)
        assert len(home.broker.sessions) == 300
        await home.clock.advance(0.0)
        assert [list(agent.answers[0].ask_id) for agent in agents] == [[n + 1] for n in range(300)]
        generations = {agent.session.terms.generation for agent in agents}
        assert len(generations) == 300
