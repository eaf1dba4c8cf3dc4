"""Outages: what the session does when its stream ends, and how it comes back."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import time
from pathlib import Path

import grpc
import numpy as np
import pytest

from agents.client import ConnectFailed, GuidanceClient, Session, SessionRefused, TlsFiles
from agents.client.channel import Dial, parse_addresses
from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import AskOptions, AskOutcome, Constraints, LaneEventKind
from tests.client.scripted_broker import ACTION, OBSERVATION, ScriptedBroker, answer_to, lanes, silent

PLAIN = AskOptions(provider_id="strong", max_age_steps=100)
ROW = {"observation": np.zeros((1, 3))}
WAIT_S = 20.0
SAFE = Constraints(low=(-1.0,) * 2, high=(1.0,) * 2, safe_action=(0.25, 0.0), ttl_ms=60_000, source="task")


async def down(session: Session) -> None:
    async with asyncio.timeout(WAIT_S):
        while session.connected:  # noqa: ASYNC110 - waiting for the loss itself
            await asyncio.sleep(0.001)


async def open_on(client: GuidanceClient) -> Session:
    session = await client.open_session("task", [OBSERVATION], ACTION, lanes(1), connect_timeout_s=WAIT_S)
    session.start_episode(0, 1)
    return session


async def test_the_true_status_surfaces_although_the_client_was_writing(
    broker: ScriptedBroker, session: Session
) -> None:
    scripted = await broker.session()
    broker.refuse = (grpc.StatusCode.PERMISSION_DENIED, "the token was revoked")
    scripted.end(grpc.StatusCode.PERMISSION_DENIED, "the token was revoked")
    for step in range(1_000_000):
        if not session.connected:
            break
        session.ask([0], [step], ROW, PLAIN)
        await asyncio.sleep(0)
    assert session.status.code is grpc.StatusCode.PERMISSION_DENIED
    assert session.status.message == "the token was revoked"


async def test_an_outage_fails_asks_at_once_advises_nothing_and_ends(
    broker: ScriptedBroker, session: Session
) -> None:
    session.ask([0], [0], ROW, PLAIN)
    await session.settled([0], [0], WAIT_S)
    assert session.advice(0, 1) is not None
    (await broker.session()).end(grpc.StatusCode.UNAVAILABLE, "restarting")
    await down(session)
    assert session.advice(0, 1) is None
    (ask_id,) = session.ask([0], [1], ROW, PLAIN)
    assert session.outcome(ask_id).outcome is AskOutcome.UNAVAILABLE
    assert session.outcome(ask_id).failure.message == "no session: restarting"
    assert await session.settled([0], [1], 0.0)
    assert session.observe([0], [2], ROW) == []
    assert await session.wait_connected(WAIT_S)
    session.ask([0], [2], ROW, PLAIN)
    await session.settled([0], [2], WAIT_S)
    assert session.advice(0, 2) is not None
    assert session.counts.connections == 2


async def test_nothing_is_delivered_across_generations(broker: ScriptedBroker, session: Session) -> None:
    broker.on_message = silent
    (lost,) = session.ask([0], [0], ROW, PLAIN)
    (batch,) = await (await broker.session()).asked()
    waiting = asyncio.ensure_future(session.settled([0], [0], WAIT_S))
    (await broker.session()).end(grpc.StatusCode.UNAVAILABLE, "restarting")
    assert await waiting  # no more hope: the wait ends at once
    assert session.counts.lost == 1
    assert session.outcome(lost).local
    assert await session.wait_connected(WAIT_S)
    again = await broker.session(1)
    again.answer(answer_to(batch, 0.9))
    session.ask([0], [1], ROW, PLAIN)
    again.answer(answer_to((await again.asked())[0], 0.1), credits=1)
    await session.settled([0], [1], WAIT_S)
    assert session.advice(0, 1).action.tolist() == pytest.approx([0.1, 0.1])
    assert session.counts.stale == 1


async def test_a_lost_ask_is_asked_again_under_the_same_id(broker: ScriptedBroker, session: Session) -> None:
    broker.on_message = silent
    (lost,) = session.ask([0], [0], ROW, PLAIN)
    await (await broker.session()).asked()
    (await broker.session()).end(grpc.StatusCode.UNAVAILABLE, "restarting")
    await down(session)
    assert await session.wait_connected(WAIT_S)
    assert session.ask([0], [0], ROW, PLAIN, ask_ids=[lost]) == [lost]
    assert list((await (await broker.session(1)).asked())[0].ask_id) == [lost]
    with pytest.raises(ValueError, match="in flight"):
        session.ask([0], [0], ROW, PLAIN, ask_ids=[lost])


async def test_open_episodes_and_held_back_lanes_are_declared_to_the_new_session(
    broker: ScriptedBroker, session: Session
) -> None:
    session.end_episode(1)
    session.lane_event(0, LaneEventKind.PAUSED)
    (await broker.session()).end(grpc.StatusCode.UNAVAILABLE, "restarting")
    await down(session)
    again = await broker.session(1)
    (first, *_) = await again.messages(1)
    assert [(start.lane, start.episode, start.lane_generation) for start in first.episode_starts] == [
        (0, 1, 2)
    ]
    assert [event.lane for event in first.lane_events] == [0]


async def test_the_next_address_is_tried_when_one_is_dead(broker: ScriptedBroker) -> None:
    async with GuidanceClient(["127.0.0.1:1", broker.address]) as client:
        session = await open_on(client)
        assert session.connected


async def test_a_second_broker_takes_over_when_the_first_one_goes(broker: ScriptedBroker) -> None:
    second = ScriptedBroker()
    await second.start()
    async with GuidanceClient([broker.address, second.address]) as client:
        session = await open_on(client)
        await broker.stop()
        await second.session()
        assert await session.wait_connected(WAIT_S)
    await second.stop()


async def test_no_broker_at_all_is_a_failure_in_the_time_given_with_the_true_status() -> None:
    async with GuidanceClient("127.0.0.1:1") as client:
        with pytest.raises(ConnectFailed) as caught:
            await client.open_session("task", [OBSERVATION], ACTION, lanes(1), connect_timeout_s=0.5)
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE


async def test_a_refusal_is_raised_at_once_and_not_tried_again(broker: ScriptedBroker) -> None:
    broker.refuse = (grpc.StatusCode.UNAUTHENTICATED, "who are you?")
    async with GuidanceClient(broker.address, token="wrong") as client:
        with pytest.raises(SessionRefused) as caught:
            await client.open_session("task", [OBSERVATION], ACTION, lanes(1), connect_timeout_s=WAIT_S)
    assert (caught.value.code, caught.value.message) == (grpc.StatusCode.UNAUTHENTICATED, "who are you?")
    assert not broker.sessions


async def test_a_broker_that_says_nothing_does_not_hold_the_caller() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with GuidanceClient(f"127.0.0.1:{listener.getsockname()[1]}") as client:
            with pytest.raises(ConnectFailed):
                await client.open_session("task", [OBSERVATION], ACTION, lanes(1), connect_timeout_s=0.3)


async def test_the_token_goes_with_the_call_and_is_shown_nowhere(broker: ScriptedBroker) -> None:
    async with GuidanceClient(broker.address, token="s3cret") as client:
        await open_on(client)
    assert (await broker.session()).metadata["authorization"] == "Bearer s3cret"
    assert "s3cret" not in repr(Dial(("h:1",), "s3cret"))


def test_a_blank_token_is_refused() -> None:
    with pytest.raises(ValueError, match="blank"):
        GuidanceClient("127.0.0.1:1", token="  ")


@pytest.mark.parametrize("addresses", ["localhost", [], ["a:1", "b"], ":5"])
def test_addresses_must_be_host_and_port(addresses: str | list[str]) -> None:
    with pytest.raises(ValueError, match=r"host:port"):
        parse_addresses(addresses)


async def test_a_broker_that_wants_rarer_pings_is_dialled_again_with_them(broker: ScriptedBroker) -> None:
    broker.keepalive_ms = 60_000
    async with GuidanceClient(broker.address) as client:
        session = await open_on(client)
        assert session.counts.connections == 1
    assert len(broker.sessions) == 2


async def test_a_second_session_of_one_client_goes_by_another_name(broker: ScriptedBroker) -> None:
    async with GuidanceClient(broker.address, agent="me") as client:
        first, second = await open_on(client), await open_on(client)
        assert (first.hello.agent, second.hello.agent) == ("me", "me/2")


async def test_constraints_outlive_the_broker_for_their_time_and_then_the_safe_action_stands_in(
    broker: ScriptedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.first_words = pb.SessionResponse(constraints=[codec.constraints_to_proto(SAFE)])
    now = [time.monotonic()]
    async with GuidanceClient(broker.address) as client:
        session = await open_on(client)
        assert session.constrain(0, 0, np.full(2, 9.0))[0].tolist() == [1.0, 1.0]
        broker.refuse = (grpc.StatusCode.UNAVAILABLE, "gone")
        (await broker.session()).end(grpc.StatusCode.UNAVAILABLE, "gone")
        await down(session)
        now[0] = time.monotonic()
        monkeypatch.setattr("agents.client.connection.monotonic", lambda: now[0])
        now[0] += 55.0
        assert session.constrain(0, 1, np.full(2, 9.0))[0].tolist() == [1.0, 1.0]
        now[0] += 6.0
        action, verdict = session.constrain(0, 2, np.full(2, 0.5))
        assert action.tolist() == [0.25, 0.0]
        assert verdict.expired


async def test_closing_sends_what_waits(broker: ScriptedBroker) -> None:
    async with GuidanceClient(broker.address) as client:
        session = await open_on(client)
        session.end_episode(0)
    scripted = await broker.session()
    await scripted.until(lambda one: any(message.episode_ends for message in one.received))


async def test_with_tls_there_is_no_way_back_to_plaintext(broker: ScriptedBroker) -> None:
    async with GuidanceClient(broker.address, tls=TlsFiles()) as client:
        with pytest.raises(ConnectFailed) as caught:
            await client.open_session("task", [OBSERVATION], ACTION, lanes(1), connect_timeout_s=1.0)
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE
    assert not broker.sessions


async def test_a_tls_file_that_cannot_be_read_is_named(broker: ScriptedBroker, tmp_path: Path) -> None:
    async with GuidanceClient(broker.address, tls=TlsFiles(authority=tmp_path / "ca.pem")) as client:
        with pytest.raises(ConnectFailed, match=r"ca\.pem"):
            await client.open_session("task", [OBSERVATION], ACTION, lanes(1), connect_timeout_s=0.3)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Key and self-signed certificate of a host called broker."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=broker"
    more = ["-addext", "subjectAltName=DNS:broker", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make.split(), *more], check=True, capture_output=True)
    return key, certificate


async def test_a_session_over_tls_asks_and_is_answered(certificate: tuple[Path, Path]) -> None:
    key, public = certificate
    secure = ScriptedBroker()
    await secure.start(credentials=grpc.ssl_server_credentials([(key.read_bytes(), public.read_bytes())]))
    tls = TlsFiles(authority=public, server_name="broker")
    async with GuidanceClient(secure.address, tls=tls) as client:
        session = await open_on(client)
        session.ask([0], [0], ROW, PLAIN)
        assert await session.settled([0], [0], WAIT_S)
        assert session.advice(0, 0) is not None
    await secure.stop()
