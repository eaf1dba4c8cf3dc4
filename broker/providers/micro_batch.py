"""One worker thread that turns many small calls into few large ones.

Whatever waits when the thread comes free is one batch: nobody is made to wait for company, and under load the
batches grow by themselves. Rows whose caller has gone are left out before the work starts.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import numpy as np

Forward = Callable[[np.ndarray], np.ndarray]
"""Rows ``[B, I]`` in, results ``[B, O]`` out; called on the worker thread only."""


@dataclass(frozen=True, slots=True, eq=False)
class Ran:
    """``results`` is ``[B, O]``; the times are of the whole batch these rows were part of."""

    results: np.ndarray
    queue_us: int
    forward_us: int


class _Ticket:
    """Rows that wait, and whoever waits for them."""

    __slots__ = ("future", "gone", "queued_at", "rows")

    def __init__(self, rows: np.ndarray, future: asyncio.Future[Ran]) -> None:
        self.rows = rows
        self.future = future
        self.queued_at = time.perf_counter()
        self.gone = False


class MicroBatcher:
    """``load`` runs first on the thread and gives the function that all batches go through.

    A batch takes callers until it has ``max_rows`` rows; a single call is never split.
    """

    def __init__(self, name: str, load: Callable[[], Forward], max_rows: int = 4096) -> None:
        self._load = load
        self._max_rows = max_rows
        self._tickets: SimpleQueue[_Ticket | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loaded: asyncio.Future[None] | None = None

    async def start(self) -> None:
        """Return once ``load`` is done; raise what it raised."""
        self._loop = asyncio.get_running_loop()
        self._loaded = self._loop.create_future()
        self._thread.start()
        await self._loaded

    async def run(self, rows: np.ndarray) -> Ran:
        """The results of ``rows``; raises what the batch raised."""
        assert self._loop is not None, "start it first"
        ticket = _Ticket(rows, self._loop.create_future())
        self._tickets.put(ticket)
        try:
            return await ticket.future
        except asyncio.CancelledError:
            ticket.gone = True
            raise

    async def close(self) -> None:
        """Finish what waits, then end the thread."""
        if self._thread.is_alive():
            self._tickets.put(None)
            await asyncio.to_thread(self._thread.join)

    # -------------------------------------------------------------- on the worker thread

    def _work(self) -> None:
        try:
            forward = self._load()
        except Exception as error:
            self._tell(_end, self._loaded, error)
            return
        self._tell(_end, self._loaded, None)
        open_ = True
        while open_:
            tickets, open_ = self._waiting()
            if tickets:
                self._run(forward, tickets)

    def _waiting(self) -> tuple[list[_Ticket], bool]:
        """The next batch, and whether more may come."""
        tickets: list[_Ticket] = []
        rows = 0
        while rows < self._max_rows:
            try:
                ticket = self._tickets.get(block=not tickets)
            except Empty:
                break
            if ticket is None:
                return tickets, False
            if not ticket.gone:
                tickets.append(ticket)
                rows += len(ticket.rows)
        return tickets, True

    def _run(self, forward: Forward, tickets: list[_Ticket]) -> None:
        started = time.perf_counter()
        try:
            rows = [ticket.rows for ticket in tickets]
            results = forward(rows[0] if len(rows) == 1 else np.concatenate(rows))
        except Exception as error:
            self._tell(_fail, tickets, error)
            return
        self._tell(_deliver, tickets, results, started, time.perf_counter() - started)

    def _tell(self, callback: Callable[..., None], *arguments: object) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            return  # the loop has been closed: nobody waits any more


# ------------------------------------------------------------------ on the loop


def _end(future: asyncio.Future[None], error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


def _fail(tickets: list[_Ticket], error: Exception) -> None:
    for ticket in tickets:
        if not ticket.future.done():
            ticket.future.set_exception(error)


def _deliver(tickets: list[_Ticket], results: np.ndarray, started: float, took: float) -> None:
    start = 0
    forward_us = int(took * 1e6)
    for ticket in tickets:
        end = start + len(ticket.rows)
        if not ticket.future.done():
            waited_us = int((started - ticket.queued_at) * 1e6)
            ticket.future.set_result(Ran(results[start:end], waited_us, forward_us))
        start = end
