"""The blocking twin, and the processes it is forked into."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from agents.client import ClientClosed, GuidanceClient, LaneMisuse, Session, sync
from agents.client.loop_thread import LoopThread
from protos.types import AskOptions
from tests.client.scripted_broker import ACTION, OBSERVATION, ScriptedBroker, lanes

ROW = {"observation": np.zeros((1, 3))}
WAIT_S = 60.0  # a relay starts an interpreter, which takes its time on a busy machine


@pytest.fixture
def address() -> Iterator[str]:
    """A scripted broker in a process of its own, so that forking the test does not fork a server."""
    command = [sys.executable, "-m", "tests.client.scripted_broker"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def opened(client: sync.GuidanceClient) -> sync.Session:
    session = client.open_session("task", [OBSERVATION], ACTION, lanes(1), connect_timeout_s=WAIT_S)
    session.start_episode(0, 1)
    return session


def ask_once(session: sync.Session, step: int) -> list[float]:
    session.ask([0], [step], ROW, AskOptions(provider_id="strong"))
    assert session.settled([0], [step], WAIT_S)
    return session.advice(0, step).action.tolist()


def in_child(pipe: Connection, session: sync.Session, client: sync.GuidanceClient) -> None:
    (ask_id,) = session.ask([0], [1], ROW)
    pipe.send(session.outcome(ask_id).failure.reason)
    pipe.send(session.wait_connected(WAIT_S))
    pipe.send(ask_once(session, 2))
    pipe.send(client.get_guidance("task", {"observation": np.zeros(3)}, timeout_s=WAIT_S).rows)
    client.close()
    pipe.send("closed")


def test_a_session_asks_and_is_advised_without_a_loop_of_the_caller_s(address: str) -> None:
    with sync.GuidanceClient(address) as client:
        session = opened(client)
        assert ask_once(session, 0) == [0.5, 0.5]
        action, verdict = session.constrain(0, 0, np.zeros(2))
        assert action.tolist() == [0.0, 0.0]
        assert not verdict.changed
        assert session.counts.asks_sent == 1
        with pytest.raises(LaneMisuse):
            session.start_episode(0, 2)
        session.close()
        with pytest.raises(ClientClosed):
            session.ask([0], [1], ROW)


def test_a_forked_child_reopens_in_a_session_of_its_own_and_the_parent_s_goes_on(address: str) -> None:
    with sync.GuidanceClient(address, agent="parent") as client:
        session = opened(client)
        assert ask_once(session, 0) == [0.5, 0.5]
        here, there = multiprocessing.Pipe()
        child = multiprocessing.get_context("fork").Process(target=in_child, args=(there, session, client))
        child.start()
        there.close()
        said = [here.recv() for _ in range(5)]
        child.join(WAIT_S)
        assert said == ["NOT_CONNECTED", True, [0.5, 0.5], 1, "closed"]
        assert child.exitcode == 0
        assert ask_once(session, 1) == [0.5, 0.5]
        assert session.counts.connections == 1


def test_a_bare_fork_that_never_speaks_ends_at_once(address: str) -> None:
    with sync.GuidanceClient(address) as client:
        session = opened(client)
        child = os.fork()
        if child == 0:
            os._exit(0 if session.counts.asks_sent == 0 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert ask_once(session, 0) == [0.5, 0.5]


@pytest.mark.parametrize(
    ("blocking", "original"), [(sync.Session, Session), (sync.GuidanceClient, GuidanceClient)]
)
def test_the_twin_has_every_public_method_of_the_original(blocking: type, original: type) -> None:
    own_business = {"open", "up", "take", "down"}  # what the connection calls
    public = {name for name in vars(original) if not name.startswith("_")} - own_business
    assert public - {name for name in vars(blocking) if not name.startswith("_")} == set()


def test_the_twin_holds_no_logic() -> None:
    source = inspect.getsource(sync)
    assert not any(f"        {word} " in source for word in ("if", "for", "while", "try:"))


def test_an_exception_comes_back_as_it_was_raised() -> None:
    thread = LoopThread()

    def fail() -> None:
        raise LaneMisuse("lane 3")

    with pytest.raises(LaneMisuse, match="lane 3"):
        thread.call(fail)
    thread.stop()


async def test_a_child_of_an_asyncio_program_reopens_too(broker: ScriptedBroker) -> None:
    async with GuidanceClient(broker.address, agent="parent") as client:
        session = await client.open_session("task", [OBSERVATION], ACTION, lanes(1), connect_timeout_s=WAIT_S)
        session._pid = -1  # as a fork leaves it: the session is another process's
        session.start_episode(0, 1)
        assert not session.connected
        assert await session.wait_connected(WAIT_S)
        assert session.hello.agent == f"parent/{os.getpid()}"
        session.ask([0], [0], ROW)
        assert await session.settled([0], [0], WAIT_S)
