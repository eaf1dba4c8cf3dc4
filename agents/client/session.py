"""One session: the lanes of one process, asking over one stream. All of it lives on one event loop.

Nothing here waits but `settled`, `open` and `close`: an ask is put into the outbox and its answer is found in
the lane's registers, so a control loop never awaits a broker unless it chooses to, and then for as long as it
says.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import grpc
import numpy as np
from numpy.typing import NDArray

from agents.client import constraints as limits
from agents.client.advice import Advice
from agents.client.asks import Ended
from agents.client.book import Arrival, Book
from agents.client.clocks import Clocks
from agents.client.columns import Columns, build_query
from agents.client.conditioning import prefixes, reads_prefix
from agents.client.connection import Connection
from agents.client.constraints import Verdict
from agents.client.counts import Counts
from agents.client.errors import ClientClosed, LaneMisuse, Status
from agents.client.ids import AskIds
from agents.client.intake import Intake
from agents.client.lane import Held
from agents.client.lanes import Lane
from agents.client.outbox import Outbox
from agents.client.providers import ProviderTable
from agents.client.rows import integers, tensors
from agents.client.sending import Sender
from agents.client.tubes import has_tube, row_of
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import (
    Answer,
    AskOptions,
    AskOutcome,
    BoxAction,
    DiscreteAction,
    Failure,
    GuidanceKind,
    Hello,
    LaneEventKind,
    OperatorPush,
    Outcome,
    Query,
    TensorSpec,
    Welcome,
)

DEFAULT_OPTIONS = AskOptions()
MakeConnection = Callable[["Session", Outbox], Connection]


class Session:
    """Made by :meth:`GuidanceClient.open_session`. `providers` is live; `welcome` is the last one's."""

    def __init__(self, hello: Hello, ids: AskIds, connect: MakeConnection) -> None:
        self.hello = hello
        self.providers = ProviderTable()
        self.welcome: Welcome | None = None
        self._lanes = {spec.lane: Lane(spec) for spec in hello.lanes}
        self._specs = _by_name(hello.observations), _by_name(hello.context)
        self._first_action = hello.action.start if isinstance(hello.action, DiscreteAction) else 0
        self._action_dim = math.prod(hello.action.shape) if isinstance(hello.action, BoxAction) else 1
        self._ids = ids
        self._clocks = Clocks()
        self._book = Book()
        self._intake = Intake(self._book, self._lanes, self.providers)
        self._outbox = Outbox()
        self._sender = Sender(self._book, self._lanes, self._intake, self._outbox)
        self._connect = connect
        self._connection = connect(self, self._outbox)
        self._closed = False
        self._pid = os.getpid()

    # ------------------------------------------------------------ state

    @property
    def connected(self) -> bool:
        return self._connection.up

    @property
    def status(self) -> Status:
        """Why the last connection ended; of interest while `connected` is False."""
        return self._connection.status

    @property
    def counts(self) -> Counts:
        return self._book.counts

    @property
    def credits(self) -> int:
        """Asks that may still be sent before one ends."""
        return self._intake.credits

    @property
    def in_flight(self) -> int:
        return len(self._book.open)

    def outcome(self, ask_id: int) -> Ended | None:
        """How an ask ended; None while it is in flight (and for one long forgotten)."""
        return self._book.ended.get(ask_id)

    def arrivals(self) -> list[Arrival]:
        """Takes what came too late, or for an older generation, since the last call: to learn from, not to
        act on.
        """
        taken = list(self._book.arrivals)
        self._book.arrivals.clear()
        return taken

    def listen(self, listener: Callable[[Answer], None] | None) -> None:
        """Have every answer shown to `listener` as it comes, late ones too: for records of time and money."""
        self._intake.listener = listener

    @property
    def fault(self) -> Failure | None:
        """The broker's last complaint that was about no ask in flight, such as an episode out of order."""
        return self._book.fault

    def pushes(self) -> list[OperatorPush]:
        """Takes the guidance that operators pushed since the last call. Stops act by themselves in
        `constrain`.
        """
        taken, self._intake.pushes = self._intake.pushes, []
        return taken

    # ------------------------------------------------------------ lanes

    def start_episode(self, lane: int, episode: int) -> None:
        """Raises LaneMisuse while another episode is open in this lane."""
        self._here()
        mine = self._lane(lane)
        mine.start(episode)
        if self.connected:
            self._outbox.start_episode(lane, episode, mine.generation)
            self._connection.wake()

    def end_episode(self, lane: int, truncated: bool = False) -> None:
        """Leases end, what is held goes, and answers still to come are for learning only."""
        self._here()
        mine = self._lane(lane)
        episode = mine.end()
        self._forgo(lane)
        if self.connected:
            self._outbox.end_episode(lane, episode, mine.generation, truncated)
            self._connection.wake()

    def lane_event(self, lane: int, kind: LaneEventKind, goal_id: str = "") -> None:
        """A fault, takeover, pause or change of goal voids what was asked before it; ACTIVE resumes."""
        self._here()
        mine = self._lane(lane)
        before = mine.generation
        event = mine.take_event(kind, goal_id)
        if mine.generation != before:
            self._forgo(lane)
        if self.connected:
            self._outbox.lane_event(event)
            self._connection.wake()

    # ------------------------------------------------------------ asking

    def ask(
        self,
        lanes: Iterable[int],
        steps: Iterable[int],
        observations: Mapping[str, Any],
        options: AskOptions = DEFAULT_OPTIONS,
        **columns: Unpack[Columns],
    ) -> list[int]:
        """Ask for B rows, `observations` each `[B, ...]` raw. Returns one id a row, at once.

        A row that cannot be sent (not connected, out of credits, an observation that is not finite) has ended
        when this returns: `outcome` of its id says how. ValueError for columns that do not fit, LaneMisuse
        for a lane without an open episode.
        """
        self._here()
        mine = [self._lane(lane) for lane in integers(lanes, "lanes")]
        query = self._query(mine, integers(steps, "steps", len(mine)), observations, options, columns)
        ids = list(query.ask_ids)
        if self._sender.ask(query, None if self.connected else self.status):
            self._connection.wake()
        self._note_passed(query.lanes)
        return ids

    def observe(
        self, lanes: Iterable[int], steps: Iterable[int], observations: Mapping[str, Any]
    ) -> list[int]:
        """The observations `[B, ...]` of steps about to be taken. Those that open leases want go up.

        Returns the lanes of the rows that went: for them an answer is due, which `settled` can wait for.
        """
        self._here()
        lanes = integers(lanes, "lanes")
        steps = integers(steps, "steps", len(lanes))
        wanted = []
        for row, (number, step) in enumerate(zip(lanes, steps, strict=True)):
            lane = self._lane(number)
            lane.speak(step)
            if has_tube(lane.registers):
                self._book.counts.abandoned += lane.leave_tubes(step, row_of(observations, row))
            wanted += [(row, ask) for ask in lane.leases if ask.sent_step < step <= ask.last_step]
        self._note_passed(lanes)
        if not wanted or not self.connected:
            return []
        self._sender.lease_rows(wanted, steps, tensors(observations, self._specs[0], len(lanes)))
        self._connection.wake()
        return [ask.lane for _, ask in wanted]

    def cancel(self, ask_id: int) -> None:
        """Acts at once; a lease ends with it. An ask that has ended is left alone."""
        self._here()
        ask = self._book.open.get(ask_id)
        if ask is None:
            return
        lane = self._lanes[ask.lane]
        lane.leases = [lease for lease in lane.leases if lease is not ask]
        if ask.leased:
            self._book.give_up(ask)
        else:
            self._book.forgo(ask)
        self._outbox.cancel(ask.lane, ask_id)
        self._connection.wake()

    def report(self, outcome: Outcome) -> None:
        """What became of one ask. Dropped while not connected: reports feed statistics, not accounts."""
        self._here()
        if self.connected:
            self._outbox.outcome(outcome)
            self._connection.wake()

    # ------------------------------------------------------------ acting

    async def settled(self, lanes: Iterable[int], steps: Iterable[int], timeout_s: float) -> bool:
        """Wait until every (lane, step) that expects an answer has one, its failure, or no more hope of one.

        True then, False when `timeout_s` was over first. Returns at once where nothing is due.
        """
        return await self._book.settled(zip(lanes, steps, strict=True), timeout_s)

    def advice(self, lane: int, step: int) -> Advice | None:
        """What this lane may do at `step` by guidance, or None: nothing came, it is too old, or there is no
        session.
        """
        return self._lanes[lane].advice(step) if self.connected else None

    def held(self, lane: int, kind: GuidanceKind) -> Held | None:
        """The newest subgoals, skill, plan and the like of a lane; for actions and chunks see `advice`."""
        return self._lane(lane).registers.others.get(kind) if self.connected else None

    def runway_steps(self, lane: int, step: int) -> int:
        """Steps from `step` on that held guidance or an open lease reaches."""
        return self._lane(lane).runway_steps(step)

    def constrain(self, lane: int, step: int, action: Any) -> tuple[NDArray[np.generic], Verdict]:
        """The action to execute in place of `action` `[A]`, which may be the agent's own, and what was done
        to it.

        Call it with every action, just before executing it: it also tells the lane that `step` is over.
        """
        mine = self._lane(lane)
        if mine.execute(step):
            self._book.counts.starved_steps += 1
        if mine.passed:
            self._note_passed((lane,))
        given = np.asarray(action)
        return limits.constrain(mine.envelope, given, self._connection.silence_s(), self._first_action)

    # ------------------------------------------------------------ life

    async def open(self, timeout_s: float) -> None:
        await self._connection.open(timeout_s)

    async def wait_connected(self, timeout_s: float) -> bool:
        """Wait for the session to be up; False when `timeout_s` is over, or it was refused for good."""
        self._here()
        return await self._connection.wait_up(timeout_s)

    async def close(self) -> None:
        """Send what waits and say goodbye. Asks in flight are lost."""
        if self._closed:
            return
        self._closed = True
        if self._pid == os.getpid():
            await self._connection.close()

    def up(self, welcome: Welcome) -> None:
        """A stream stands: a new generation, into which the open episodes are declared again."""
        self._intake.generation += 1
        self._intake.wire_generation = welcome.session_generation
        self._intake.credits = self._intake.granted = welcome.credits
        self.counts.connections += 1
        self.welcome = welcome
        self.providers.replace_all(welcome.providers, welcome.config_generation)
        for lane in self._lanes.values():
            lane.new_session(self._intake.generation)
            if lane.episode is not None:
                self._outbox.start_episode(lane.number, lane.episode, lane.generation)
            if lane.event is not None:
                self._outbox.lane_event(lane.event)
        self._forget_constraints_of(self._intake.generation - 1)

    def take(self, message: pb.SessionResponse) -> None:
        self._intake.take(message)

    def down(self, status: Status) -> None:
        """The stream is over. Nothing of it is delivered into the next one."""
        text = f"the session ended: {status.message}"
        self._book.lose_all(int(status.code.value[0]), text)
        self._outbox.clear()
        self._intake.credits = self._intake.granted = 0
        for lane in self._lanes.values():
            lane.leases.clear()

    def _forget_constraints_of(self, generation: int) -> None:
        """What the last session pushed holds for its time, unless the new one speaks first."""
        for lane in self._lanes.values():
            if lane.envelope.entries:
                asyncio.get_running_loop().call_later(
                    lane.envelope.hard.ttl_s, self._forget, lane, generation
                )

    @staticmethod
    def _forget(lane: Lane, generation: int) -> None:
        lane.envelope = limits.forget(lane.envelope, generation)

    def _here(self) -> None:
        if self._closed:
            raise ClientClosed("session")
        if self._pid != os.getpid():
            self._adopt()

    def _adopt(self) -> None:
        """In a forked child: the parent's stream is not ours. Open our own, under a name of our own."""
        self._pid = os.getpid()
        self._connection.abandon()
        self.hello = replace(self.hello, agent=f"{self.hello.agent}/{self._pid}")
        self._connection = self._connect(self, self._outbox)
        self._book.inherited()
        self.down(Status(grpc.StatusCode.UNAVAILABLE, "forked: opening a session of this process"))
        self._connection.start()

    def _query(
        self,
        lanes: Sequence[Lane],
        steps: list[int],
        observations: Mapping[str, Any],
        options: AskOptions,
        columns: Columns,
    ) -> Query:
        view = self.providers.get(options.provider_id)
        if view is not None and reads_prefix(view) and "prefix" not in columns:
            rows, delays = prefixes(view, lanes, steps, self._action_dim)
            columns = {"prefix": rows, "expected_delay_steps": delays, **columns}
        given = columns.get("ask_ids")
        ids = (
            self._ids.take(len(lanes))
            if given is None
            else self._again(integers(given, "ask_ids", len(lanes)))
        )
        clocked = self._clocks.set(options, None if view is None else view.info)
        return build_query(lanes, steps, ids, observations, clocked, columns, self._specs)

    def _again(self, ask_ids: list[int]) -> list[int]:
        for ask_id in ask_ids:
            if ask_id in self._book.open:
                raise ValueError(f"ask {ask_id} is in flight; ask again only what has ended")
        return ask_ids

    def _forgo(self, lane: int) -> None:
        """The lane's generation rose: its leases are over, and its other asks cannot be acted on."""
        for ask in [ask for ask in self._book.open.values() if ask.lane == lane]:
            self._book.give_up(ask)

    def _note_passed(self, lanes: Iterable[int]) -> None:
        """A lease whose last step is over and of which nothing is due has ended, answered or not."""
        for number in lanes:
            lane = self._lanes[number]
            for ask in lane.passed:
                if not ask.waiting:
                    self._book.finish(ask, AskOutcome.NONE)
            lane.passed.clear()

    def _lane(self, number: int) -> Lane:
        try:
            return self._lanes[number]
        except KeyError:
            raise LaneMisuse(f"lane {number} was not declared; declared are {sorted(self._lanes)}") from None


def _by_name(specs: Sequence[TensorSpec]) -> dict[str, TensorSpec]:
    return {spec.name: spec for spec in specs}
