"""The client against the broker itself: both count the same, and a kill loses and doubles nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from agents.client import GuidanceClient, Session
from protos.types import AskOptions, LaneEventKind
from tests.client.live_broker import (
    ACTION,
    OBSERVATION,
    READY_S,
    ROOT,
    TASK,
    LiveBroker,
    lanes,
    live_broker,
    until,
)

PAID = AskOptions(provider_id="paid", hold_steps=4)
FLAKY = AskOptions(provider_id="flaky")
SLOW = AskOptions(provider_id="slow")
SLOW_TOO = AskOptions(provider_id="slow", max_age_steps=9)
UNKNOWN = AskOptions(provider_id="nobody")
DEAR = AskOptions(provider_id="paid", hold_steps=1000)  # half a dollar is held back for it
WAIT_S = 20.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveBroker]:
    with live_broker(tmp_path_factory.mktemp("live")) as running:
        yield running


def rows(count: int) -> dict[str, np.ndarray]:
    return {"observation": np.zeros((count, 11))}


async def opened(client: GuidanceClient, count: int) -> Session:
    session = await client.open_session(TASK, [OBSERVATION], ACTION, lanes(count), connect_timeout_s=READY_S)
    for lane in range(count):
        session.start_episode(lane, 1)
    return session


async def leased_steps(session: Session, step: int, steps: int, count: int) -> None:
    """Open a lease in every lane and execute `steps` of its steps."""
    everyone = list(range(count))
    session.ask(everyone, [step] * count, rows(count), PAID)
    for now in range(step, step + steps):
        session.observe(everyone, [now] * count, rows(count))
        assert await session.settled(everyone, [now] * count, WAIT_S)
        for lane in everyone:
            session.constrain(lane, now, np.zeros(3, np.float32))


async def mixed_run(session: Session) -> None:
    await leased_steps(session, 0, 4, 4)
    session.ask([0] * 8, range(4, 12), rows(8), FLAKY)
    await session.settled([0] * 8, range(4, 12), WAIT_S)
    session.ask([1], [4], rows(1), UNKNOWN)
    await session.settled([1], [4], WAIT_S)
    (slow,) = session.ask([1], [5], rows(1), SLOW)
    session.ask([2], [5], rows(1), SLOW_TOO)  # a call of its own: one that is shared goes on, and costs
    session.cancel(slow)
    await leased_steps(session, 12, 2, 4)  # cut short by what follows
    session.end_episode(0, truncated=True)
    session.lane_event(1, LaneEventKind.TAKEOVER)
    session.start_episode(0, 2)
    session.ask([0], [0], {"observation": np.full((1, 11), np.nan)}, PAID)
    session.ask([0] * 40, range(40), rows(40), DEAR)  # more than the budget reaches
    await session.settled([0] * 40, range(40), WAIT_S)
    session.end_episode(0)


def told(broker: LiveBroker, metric: str, label: str, since: dict[str, float]) -> dict[str, float]:
    """What a counter of the broker's rose by, where it did."""
    now = broker.metric(metric, label)
    risen = {name: value - since.get(name, 0.0) for name, value in now.items()}
    return {name: value for name, value in risen.items() if value}


async def test_the_client_s_counts_equal_the_broker_s_after_a_mixed_run(broker: LiveBroker) -> None:
    ended, charged = ("guidance_asks_ended_total", "outcome"), ("guidance_charged_usd_total", "provider")
    async with GuidanceClient(broker.address) as client:
        session = await opened(client, 4)
        before = {metric: broker.metric(metric, label) for metric, label in (ended, charged)}
        await mixed_run(session)
        await until(lambda: session.in_flight == 0)
        counts = session.counts
        await until(lambda: sum(told(broker, *ended, before[ended[0]]).values()) == counts.asks_sent)
        outcomes = {outcome.name.lower(): count for outcome, count in counts.outcomes.items()}
        assert told(broker, *ended, before[ended[0]]) == outcomes
        paid = {name: usd for name, usd in counts.charged_usd.items() if usd}
        assert told(broker, *charged, before[charged[0]]) == pytest.approx(paid)
        assert counts.local_refused == 1
        assert {"answered", "cancelled", "caller_fault", "over_budget"} <= outcomes.keys()


async def test_the_lost_answer_of_an_ask_is_had_again_under_its_id_without_a_second_charge(
    broker: LiveBroker,
) -> None:
    async with GuidanceClient(broker.address, agent="same") as client:
        await opened(client, 1)  # waits until the broker is there
        before = broker.metric("guidance_charged_usd_total", "provider")
        for _ in range(3):
            answer = await client.get_guidance(
                TASK, {"observation": np.zeros(11)}, SLOW, ask_id=12345, timeout_s=WAIT_S
            )
            assert answer.guidance.actions[0].tolist() == pytest.approx([0.2, 0.2, 0.2])
        rose = told(broker, "guidance_charged_usd_total", "provider", before)
        assert rose == pytest.approx({"slow": 0.004})
        assert {view.provider_id for view in await client.list_providers(TASK, WAIT_S)} >= {"paid", "slow"}


@pytest.mark.parametrize("name", ["connect_async.py", "connect_sync.py"])
def test_the_examples_run_and_are_guided(broker: LiveBroker, name: str) -> None:
    command = [sys.executable, f"examples/{name}", broker.address, TASK]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100)
    assert re.fullmatch(r"\d+ steps were guided\n", ran.stdout), ran.stderr


async def test_a_killed_broker_leaves_agents_under_their_constraints_and_comes_back(
    broker: LiveBroker,
) -> None:
    async with GuidanceClient(broker.address) as client:
        session = await opened(client, 2)
        await leased_steps(session, 0, 3, 2)
        await until(lambda: session.constrain(0, 2, np.full(3, 9.0))[0].tolist() == [1.0, 1.0, 1.0])
        session.ask([0, 1], [3, 3], rows(2), PAID)
        broker.kill()
        await until(lambda: not session.connected)
        assert session.advice(0, 3) is None
        assert session.constrain(0, 3, np.full(3, 9.0))[0].tolist() == [1.0, 1.0, 1.0]
        (refused,) = session.ask([0], [4], rows(1), PAID)
        assert session.outcome(refused).failure.reason == "NOT_CONNECTED"
        before = session.counts.charged_usd["paid"]
        broker.start()
        assert await session.wait_connected(READY_S)
        await leased_steps(session, 5, 4, 2)
        spent = session.counts.charged_usd["paid"] - before
        assert spent == pytest.approx(2 * (0.001 + 4 * 0.0005))
        assert session.counts.connections == 2
