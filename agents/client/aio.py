"""The client: one a process and broker. Sessions and unary calls share its addresses, token and identity."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

import grpc
import numpy as np
from google.protobuf.message import Message

from agents.client.backoff import Backoff
from agents.client.channel import CallEnded, Dial, Link, TlsFiles, parse_addresses, unary
from agents.client.clocks import with_clocks
from agents.client.connection import Connection
from agents.client.errors import CallFailed, ClientClosed, Status
from agents.client.forked import abandon, connect
from agents.client.ids import AskIds
from agents.client.outbox import Outbox
from agents.client.providers import ProviderView
from agents.client.session import DEFAULT_OPTIONS, Session
from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import ActionSpec, Answer, AskOptions, Hello, LaneSpec, Outcome, Query, TensorSpec

CLIENT_VERSION = "0.1.0"
DEFAULT_BACKOFF = Backoff()
CONNECT_TIMEOUT_S = 5.0
CALL_TIMEOUT_S = 5.0
RETRIED = frozenset({grpc.StatusCode.UNAVAILABLE})


class GuidanceClient:
    """`async with GuidanceClient("127.0.0.1:50051") as client:`

    addresses: one `host:port` or several, tried in turn. token: a bearer token; blank is refused. tls: with
    it the client never falls back to plaintext. agent: this agent's name, by default unique to the process.
    """

    def __init__(
        self,
        addresses: Sequence[str] | str,
        token: str | None = None,
        tls: TlsFiles | None = None,
        agent: str | None = None,
        backoff: Backoff = DEFAULT_BACKOFF,
    ) -> None:
        if token is not None and not token.strip():
            raise ValueError("the token is blank; give None to connect without one")
        self.agent = agent or f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}"
        self._dial = Dial(parse_addresses(addresses), token, tls)
        self._backoff = backoff
        self._random = random.Random()
        self._ids = AskIds()
        self._sessions: list[Session] = []
        self._opened = 0
        self._link: Link | None = None
        self._address = 0
        self._closed = False
        self._pid = os.getpid()

    async def __aenter__(self) -> GuidanceClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open_session(
        self,
        task: str,
        observations: Sequence[TensorSpec],
        action: ActionSpec,
        lanes: Sequence[LaneSpec],
        context: Sequence[TensorSpec] = (),
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
    ) -> Session:
        """A session with its lanes. From then on it comes back by itself after an outage.

        Raises SessionRefused with the broker's own status, or ConnectFailed when `connect_timeout_s` is over.
        """
        self._here()
        hello = Hello(
            self._name(), task, tuple(observations), action, tuple(lanes), tuple(context), CLIENT_VERSION
        )
        session = Session(hello, self._ids, self._connection)
        await session.open(connect_timeout_s)
        self._sessions.append(session)
        return session

    async def get_guidance(
        self,
        task: str,
        observations: Mapping[str, Any],
        options: AskOptions = DEFAULT_OPTIONS,
        *,
        lane: int = 0,
        episode: int = 0,
        step: int = 0,
        ask_id: int | None = None,
        context: Mapping[str, Any] | None = None,
        timeout_s: float = CALL_TIMEOUT_S,
    ) -> Answer:
        """Ask for one row, `observations` each `[...]` without a batch dimension, and wait for the answer.

        A broker that is not reached is tried again, at the next address, with the same ask id, so that an ask
        that did run is neither run nor charged again. Raises CallFailed.
        """
        query = Query(
            options=with_clocks(options, None),
            lanes=[lane],
            ask_ids=[self._ids.take(1)[0] if ask_id is None else ask_id],
            episodes=[episode],
            steps=[step],
            observations={name: np.asarray(value)[None] for name, value in observations.items()},
            context={name: np.asarray(value)[None] for name, value in (context or {}).items()},
            obs_time_ns=[time.monotonic_ns()],
        )
        request = pb.GetGuidanceRequest(agent=self.agent, task=task, ask=codec.query_to_proto(query))
        data = await self._call("GetGuidance", request, timeout_s)
        return codec.answer_from_proto(pb.GetGuidanceResponse.FromString(data).answer)

    async def list_providers(
        self, task: str = "", timeout_s: float = CALL_TIMEOUT_S
    ) -> tuple[ProviderView, ...]:
        """All sources for `task` (empty: for any), with their state where the broker knows it."""
        data = await self._call("ListProviders", pb.ListProvidersRequest(task=task), timeout_s)
        response = pb.ListProvidersResponse.FromString(data)
        states = [codec.provider_update_from_proto(state) for state in response.states]
        updates = {state.provider_id: replace(state, info=None) for state in states}
        infos = [codec.provider_info_from_proto(info) for info in response.providers]
        return tuple(ProviderView(info, updates.get(info.provider_id)) for info in infos)

    async def report_outcome(
        self, outcomes: Iterable[Outcome], timeout_s: float = CALL_TIMEOUT_S
    ) -> pb.ReportOutcomeResponse:
        """Late and repeated reports are tolerated, so this too is tried again. Returns how many were of each
        sort.
        """
        messages = [codec.outcome_to_proto(outcome) for outcome in outcomes]
        request = pb.ReportOutcomeRequest(agent=self.agent, outcomes=messages)
        return pb.ReportOutcomeResponse.FromString(await self._call("ReportOutcome", request, timeout_s))

    async def close(self) -> None:
        """Close the sessions too."""
        if self._closed:
            return
        self._closed = True
        for session in self._sessions:
            await session.close()
        if self._link is not None and self._pid == os.getpid():
            await self._link.close()

    def _name(self) -> str:
        """A broker has one session an agent, so a second one of this client goes by a name of its own."""
        self._opened += 1
        return self.agent if self._opened == 1 else f"{self.agent}/{self._opened}"

    def _connection(self, session: Session, outbox: Outbox) -> Connection:
        hello = codec.hello_to_proto(session.hello)
        return Connection(self._dial, connect, hello, session, outbox, self._backoff)

    async def _call(self, method: str, request: Message, timeout_s: float) -> bytes:
        """One unary call within `timeout_s`, tried again while no broker is reached."""
        self._here()
        data = request.SerializeToString()
        ends_at = time.monotonic() + timeout_s
        attempt = 0
        while True:
            left = ends_at - time.monotonic()
            try:
                return await unary(self._current_link(), method, data, max(left, 0.001))
            except CallEnded as ended:
                pause = self._backoff.delay_s(attempt, self._random)
                attempt += 1
                if ended.status.code not in RETRIED or time.monotonic() + pause >= ends_at:
                    raise ended.status.error(CallFailed) from None
            await self._next_address()
            await asyncio.sleep(pause)

    def _current_link(self) -> Link:
        if self._link is None:
            address = self._dial.addresses[self._address % len(self._dial.addresses)]
            try:
                self._link = connect(address, self._dial)
            except OSError as error:
                raise Status(grpc.StatusCode.UNAVAILABLE, f"TLS files: {error}").error(CallFailed) from error
        return self._link

    async def _next_address(self) -> None:
        link, self._link = self._link, None
        self._address += 1
        if link is not None:
            await link.close()

    def _here(self) -> None:
        if self._closed:
            raise ClientClosed("client")
        if self._pid != os.getpid():
            abandon(self._link)
            self._link = None
            self._pid = os.getpid()
            self.agent = f"{self.agent}/{self._pid}"
