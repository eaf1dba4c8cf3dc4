from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agents.client import GuidanceClient, Session
from tests.client.scripted_broker import ACTION, OBSERVATION, ScriptedBroker, lanes


@pytest.fixture
async def broker() -> AsyncIterator[ScriptedBroker]:
    scripted = ScriptedBroker()
    await scripted.start()
    yield scripted
    await scripted.stop()


@pytest.fixture
async def client(broker: ScriptedBroker) -> AsyncIterator[GuidanceClient]:
    async with GuidanceClient(broker.address, agent="tester") as opened:
        yield opened


@pytest.fixture
async def session(client: GuidanceClient) -> Session:
    """Two lanes, each with episode 1 open."""
    opened = await client.open_session("task", [OBSERVATION], ACTION, lanes(2), connect_timeout_s=20)
    opened.start_episode(0, 1)
    opened.start_episode(1, 1)
    return opened
