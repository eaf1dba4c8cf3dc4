"""Every open session: opened by a hello, replaced when its agent comes back, told what changes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from broker.asks.admission import Admission
from broker.asks.asking import Caller
from broker.asks.identity import IdentityTable, check_agent
from broker.asks.reports import Reports
from broker.auth import Grant
from broker.clock import Clock
from broker.errors import BrokerError, InvalidRequest, NotServed, Shed, Unauthenticated, Unavailable
from broker.events import Event, SessionOpened, UpdatesDropped
from broker.service import Service
from broker.sessions.lanes import Lanes
from broker.sessions.outbox import Outbox
from broker.sessions.schema import Schema, check_hello
from broker.sessions.session import Session, SessionTerms
from protos import codec
from protos.types import PROTOCOL_VERSION, Hello, Limits, Welcome

SESSION_RETRY_MS = 1000


@dataclass(frozen=True, slots=True)
class TableRules:
    """Bounds of the table and of each session in it."""

    max_sessions: int
    max_lanes: int
    max_rows: int
    max_message_bytes: int
    max_hold_steps: int
    max_queued_updates: int
    credits: int
    keepalive_ms: int


@dataclass(slots=True, eq=False)
class OpenSession:
    """A session and who holds it.

    ``ended_by`` is why the broker ended it, where it did; None: cleanly. ``over`` is set when it has ended.
    """

    session: Session
    grant: Grant
    hello: Hello
    ended_by: BrokerError | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self, why: str, error: BrokerError | None = None) -> None:
        if not self.session.closed:
            self.ended_by = error
            self.session.end(why)
            self.over.set()


class SessionTable:
    """One session an agent: coming back ends the one before, so that nothing old is delivered to the new."""

    def __init__(
        self,
        rules: TableRules,
        service: Service,
        identity: IdentityTable,
        reports: Reports,
        admission: Admission,
        clock: Clock,
        emit: Callable[[Event], None],
        broker_id: str,
    ) -> None:
        self._rules = rules
        self._service = service
        self._identity = identity
        self._reports = reports
        self._admission = admission
        self._clock = clock
        self._emit = emit
        self._broker_id = broker_id
        self._generations = itertools.count(int(clock.wall() * 1000))  # above those of any earlier start
        self._open: dict[tuple[str, str], OpenSession] = {}
        self.tell: Callable[[OpenSession], None] = lambda opened: None  # what a new session is told first
        self.draining = False

    def __iter__(self) -> Iterator[OpenSession]:
        return iter(list(self._open.values()))

    def __len__(self) -> int:
        return len(self._open)

    def open(self, grant: Grant, hello: Hello) -> OpenSession:
        """Raises a BrokerError where the hello is refused; nothing is changed then."""
        self._check(hello)
        place = (grant.tenant, hello.agent)
        if place not in self._open and len(self._open) >= self._rules.max_sessions:
            message = f"{self._rules.max_sessions} sessions are open, which is the limit"
            raise Shed(message, "TOO_MANY_SESSIONS", retry_after_ms=SESSION_RETRY_MS)
        before = self._open.get(place)
        if before is not None:
            self.close(
                before, "superseded", Unavailable("the agent has opened another session", "SUPERSEDED")
            )
        opened = OpenSession(self._session(grant, hello), grant, hello)
        self._open[place] = opened
        self._emit(SessionOpened(grant.tenant, len(hello.lanes)))
        self.tell(opened)
        return opened

    def close(self, opened: OpenSession, why: str, error: BrokerError | None = None) -> None:
        """End a session; closing twice changes nothing."""
        place = (opened.grant.tenant, opened.hello.agent)
        if self._open.get(place) is opened:
            del self._open[place]
        if not opened.session.closed:
            opened.end(why, error)
            self._identity.let_go(opened.session.caller.owner)

    def reloaded(self, holds: Callable[[Grant], bool]) -> None:
        """The configuration has changed: whose token is gone must go, the others are told new constraints."""
        for opened in self:
            if not holds(opened.grant):
                self.close(opened, "revoked", Unauthenticated("a valid bearer token is required"))
            else:
                self._tell_constraints(opened.session.outbox, opened.hello.task)

    def _tell_constraints(self, outbox: Outbox, task: str) -> None:
        route = self._service.catalogue.routes.get(task)
        if route is not None and route.constraints is not None:
            outbox.constraints(codec.constraints_to_proto(route.constraints).SerializeToString())

    def welcome(self, opened: OpenSession) -> Welcome:
        catalogue = self._service.catalogue
        sources = catalogue.serving(opened.hello.task)
        limits = Limits(
            self._rules.max_rows,
            self._rules.max_message_bytes,
            self._rules.max_hold_steps,
            self._rules.keepalive_ms,
        )
        return Welcome(
            session_generation=opened.session.terms.generation,
            broker_id=self._broker_id,
            config_generation=catalogue.generation,
            providers=tuple(source.info for source in sources),
            credits=opened.session.terms.credits,
            limits=limits,
        )

    def _check(self, hello: Hello) -> None:
        if self.draining:
            raise Unavailable("the broker is shutting down", "DRAINING", retry_after_ms=SESSION_RETRY_MS)
        if hello.protocol_version != PROTOCOL_VERSION:
            message = (
                f"hello.protocol_version: {hello.protocol_version}; this broker speaks {PROTOCOL_VERSION}"
            )
            raise NotServed(message, "UNKNOWN_PROTOCOL_VERSION", "hello.protocol_version")
        check_agent(hello.agent)
        if len(hello.lanes) > self._rules.max_lanes:
            message = f"hello.lanes: {len(hello.lanes)}; at most {self._rules.max_lanes}"
            raise InvalidRequest(message, "TOO_MANY_LANES", "hello.lanes")
        check_hello(hello, self._service.catalogue.route(hello.task).folder)

    def _session(self, grant: Grant, hello: Hello) -> Session:
        rules = self._rules
        owner = self._identity.hold(grant.tenant, hello.agent)
        outbox = Outbox(
            rules.max_queued_updates,
            rules.max_message_bytes,
            lambda count: self._emit(UpdatesDropped(count)),
        )
        self._tell_constraints(outbox, hello.task)
        return Session(
            SessionTerms(next(self._generations), rules.credits, rules.max_rows),
            Caller(grant.tenant, hello.agent, hello.task, owner),
            Lanes(hello.lanes),
            Schema(hello.observations, hello.context),
            outbox,
            self._service,
            self._reports,
            self._admission,
            self._clock,
            self._emit,
        )
