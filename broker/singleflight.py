"""Calls that outlive those who wait for them: started once, joined by whoever asks the same, ended once.

After golang's singleflight; the care here is for cancellation. A flight is a task that the broker owns.
Whoever waits holds a seat and may leave at any time; when the last seat is empty the call lingers, since a
retry may come back for it, and is then cancelled. An explicit cancel by the last one acts at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from broker.calling.interface import Called
from broker.clock import Clock
from broker.errors import BrokerError, Cancelled, Internal
from broker.timers.alarms import Alarm, Alarms
from protos.types import Query

Landed = Callable[["Flight", Called | BrokerError], None]


@dataclass(slots=True, eq=False)
class Seat:
    """Rows of one asking on a flight: ``rows`` maps the asking's row to the flight's. ``pays``: caused it."""

    asking: Any
    rows: dict[int, int]
    pays: bool


@dataclass(slots=True, eq=False)
class Flight:
    """One call under way. ``keys`` has one entry a row, or none where the call is nobody else's.

    ``booked``: every seat ever taken by an ask of its own, with the rows it had then; who retries takes a
    seat but books none.
    """

    tenant: str
    query: Query
    keys: Sequence[bytes]
    began_at: float
    deadline: float
    booked: list[Seat] = field(default_factory=list)
    seats: list[Seat] = field(default_factory=list)
    task: asyncio.Task[Called] | None = None
    lingering: Alarm | None = None
    abandoned: bool = False


class Flights:
    def __init__(self, clock: Clock, alarms: Alarms, linger_s: float) -> None:
        self._clock = clock
        self._alarms = alarms
        self._linger_s = linger_s
        self._by_key: dict[tuple[str, bytes], tuple[Flight, int]] = {}
        self._under_way: set[Flight] = set()

    @property
    def under_way(self) -> int:
        return len(self._under_way)

    def find(self, tenant: str, key: bytes) -> tuple[Flight, int] | None:
        """The flight that carries this key, and the row it has there."""
        found = self._by_key.get((tenant, key))
        return None if found is None or found[0].abandoned else found

    def launch(
        self,
        tenant: str,
        query: Query,
        keys: Sequence[bytes],
        deadline: float,
        run: Coroutine[Any, Any, Called],
        landed: Landed,
    ) -> Flight:
        """Start ``run``; ``landed`` is called once, with its result or a broker's error, when it ends."""
        flight = Flight(tenant, query, keys, self._clock.now(), deadline)
        for row, key in enumerate(keys):
            self._by_key[tenant, key] = (flight, row)
        flight.task = asyncio.get_running_loop().create_task(run)
        self._under_way.add(flight)
        flight.task.add_done_callback(lambda task: self._end(flight, task, landed))
        return flight

    def board(self, flight: Flight, seat: Seat) -> None:
        flight.seats.append(seat)
        if flight.lingering is not None:
            flight.lingering.cancel()
            flight.lingering = None

    def leave(self, flight: Flight, seat: Seat, row: int, at_once: bool) -> None:
        """Give up one row of a seat. ``at_once``: the caller said so, so nobody is going to come back."""
        seat.rows.pop(row, None)
        if seat.rows or seat not in flight.seats:
            return
        flight.seats.remove(seat)
        if flight.seats:
            return
        if at_once:
            self._abandon(flight)
        elif flight.lingering is None:
            until = self._clock.now() + self._linger_s
            flight.lingering = self._alarms.at(until, lambda: self._abandon(flight))

    async def close(self) -> None:
        """Cancel what is still under way and wait until it has ended."""
        flights = list(self._under_way)
        for flight in flights:
            self._abandon(flight)
        await asyncio.gather(*(flight.task for flight in flights if flight.task), return_exceptions=True)

    def _abandon(self, flight: Flight) -> None:
        flight.abandoned = True
        if flight.task is not None:
            flight.task.cancel()

    def _end(self, flight: Flight, task: asyncio.Task[Called], landed: Landed) -> None:
        self._under_way.discard(flight)
        for row, key in enumerate(flight.keys):
            if self._by_key.get((flight.tenant, key)) == (flight, row):
                del self._by_key[flight.tenant, key]
        if flight.lingering is not None:
            flight.lingering.cancel()
        landed(flight, _result(flight, task))


def _result(flight: Flight, task: asyncio.Task[Called]) -> Called | BrokerError:
    if task.cancelled():
        return Cancelled("the call was cancelled") if flight.abandoned else Internal("a source gave up")
    error = task.exception()
    if error is None:
        return task.result()
    return error if isinstance(error, BrokerError) else Internal("the broker failed")
