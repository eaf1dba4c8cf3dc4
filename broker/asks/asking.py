"""One caller's ask on its way through the broker, and whoever waits for its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from broker.asks.identity import Owner
from broker.deadline import Deadlines
from broker.errors import BrokerError
from broker.leases.lease import Lease
from broker.singleflight import Flight, Seat
from broker.timers.alarms import Alarm
from protos.types import Answer, Query

UNSET = Deadlines(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and for which configured task; ``owner`` keeps its asks' identities."""

    tenant: str
    agent: str
    task: str
    owner: Owner


class Sink(Protocol):
    """Where the results of an asking go: a session, or a unary call."""

    def wanted(self, asking: Asking, rows: Sequence[int]) -> Sequence[int]:
        """Those of the rows that can still be acted on; the others are dropped and counted."""
        ...

    def answer(self, asking: Asking, answer: Answer) -> bytes:
        """Take rows' answer. Returns it serialised, as it goes out."""
        ...

    def lease(self, asking: Asking, lease: Lease) -> None:
        """An ask of the asking holds a lease from now on."""
        ...

    def lease_ended(self, lease: Lease) -> None: ...

    def idle_s(self, lane: int) -> float:
        """After how many seconds without a row the lane's leases end."""
        ...

    def fail(self, asking: Asking, rows: Sequence[int], error: BrokerError) -> None: ...

    def ended(self, asking: Asking, rows: int) -> None:
        """So many asks are over: their credits are free."""
        ...


@dataclass(slots=True, eq=False)
class Asking:
    """B rows that were asked together, their clocks, and which of them are still open.

    ``bodies``: see :mod:`broker.asks.identity`. ``seated``: where each row waits that waits. ``unary``: one
    clock, and ``time_left_s`` is what the call's own deadline leaves of it (None: no deadline was set).
    """

    caller: Caller
    query: Query
    bodies: Sequence[int]
    received_at: float
    sink: Sink
    unary: bool = False
    time_left_s: float | None = None
    deadlines: Deadlines = UNSET
    open: set[int] = field(default_factory=set)
    seated: dict[int, tuple[Flight, Seat]] = field(default_factory=dict)
    told_pending: bool = False
    alarms: list[Alarm] = field(default_factory=list)

    def ids(self, rows: Sequence[int]) -> list[int]:
        return [self.query.ask_ids[row] for row in rows]

    def close_rows(self, rows: Sequence[int]) -> None:
        """These rows are over; with the last one the alarms go."""
        self.open.difference_update(rows)
        if self.seated:
            for row in rows:
                self.seated.pop(row, None)
        if not self.open:
            for alarm in self.alarms:
                alarm.cancel()
