"""Accounts that survive the process: :mod:`broker.accounts` on top of books and a file."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Mapping

from broker.clock import Clock
from broker.config.model import IN_MEMORY
from broker.errors import OverBudget, Unavailable
from broker.events import Charged, Event, LedgerFailed, Saved
from broker.ledger.books import NANO, Books, Line, Reservation, to_nano
from broker.ledger.storage import Booking, Storage, read_lines

RETRY_S = 1.0
EXPIRY_CHECK_S = 1.0


class Ledger:
    """Implements :class:`broker.accounts.Accounts`. Emits ``Charged``, ``Saved`` and ``LedgerFailed``.

    While the file cannot be written nothing new is reserved; charges against what is reserved already are
    kept and written as soon as it can be. Should the process die before, they settle at their estimate.
    """

    def __init__(
        self,
        clock: Clock,
        emit: Callable[[Event], None],
        path: str = IN_MEMORY,
        budgets_usd: Mapping[str, float] | None = None,
    ) -> None:
        """Open the file and settle what a dead run left open.

        Raises :class:`broker.ledger.LedgerInUse`; a file that cannot be opened is tried again at need.
        """
        self._clock = clock
        self._emit = emit
        self._path = path
        self._books = Books(budgets_usd or {})
        self._storage: Storage | None = None
        self._backlog: list[Booking] = []
        self._next_number = 0
        self._next_expiry_check = self._next_try = clock.now()
        self._failing = False
        self._open()

    def reserve(self, tenant: str, provider_id: str, amount_usd: float, ttl_s: float) -> int:
        """See :class:`broker.accounts.Accounts`."""
        now = self._clock.now()
        if now >= self._next_expiry_check:
            self._settle_overdue(now)
        storage = self._writable()
        amount = to_nano(amount_usd)
        if not self._books.covers(tenant, amount):
            raise OverBudget("the tenant's budget does not cover this call; free sources still answer")
        number = self._next_number
        try:
            storage.reserve(number, tenant, provider_id, amount)
        except sqlite3.Error as error:
            raise self._failed() from error
        self._failing = False
        self._next_number += 1
        self._books.open(number, tenant, provider_id, amount, now + ttl_s)
        return number

    def charge(self, reservations: list[tuple[int, float]]) -> None:
        """See :class:`broker.accounts.Accounts`."""
        bookings: list[Booking] = []
        for number, usd in reservations:
            amount = to_nano(usd)
            reservation = self._books.charge(number, amount) if amount else None
            if reservation is not None:
                bookings.append((1, amount, 0, number))
                self._charged(reservation, amount)
        self._write(bookings)

    def settle(self, reservation: int, amount_usd: float) -> None:
        """See :class:`broker.accounts.Accounts`."""
        self._close([(reservation, to_nano(amount_usd))])

    def saved(self, tenant: str, provider_id: str, amount_usd: float, count: int) -> None:
        """See :class:`broker.accounts.Accounts`. ``amount_usd`` is the sum over ``count`` asks."""
        self._books.account(tenant, provider_id).saved += to_nano(amount_usd)
        self._emit(Saved(tenant, provider_id, amount_usd))

    def summary(self, tenant: str = "") -> list[Line]:
        """What each tenant spent at each source; an empty name means all tenants."""
        self._settle_overdue(self._clock.now())
        return list(self._books.lines(tenant))

    def set_budgets(self, budgets_usd: Mapping[str, float]) -> None:
        """Replace all budgets (a reload); what was spent stays spent."""
        self._books.set_budgets(budgets_usd)

    @property
    def writable(self) -> bool:
        """Whether the last write went through."""
        return self._storage is not None and not self._failing

    async def maintain(self) -> None:
        """Settle what expired and keep the log short, off the loop where the disk is waited for."""
        self._settle_overdue(self._clock.now())
        storage = self._storage
        if storage is None or not storage.wants_checkpoint:
            return
        with contextlib.suppress(sqlite3.Error, OSError):
            await asyncio.to_thread(storage.sync)
            if storage is self._storage:
                storage.checkpoint()

    def close(self) -> None:
        """Write what is left and let go of the file. Reservations still open stay open for the next start."""
        if self._storage is not None:
            self._write([])
            with contextlib.suppress(sqlite3.Error):
                self._storage.fold()
            self._storage.close()
            self._storage = None

    def _settle_overdue(self, now: float) -> None:
        self._next_expiry_check = now + EXPIRY_CHECK_S
        self._close(self._books.overdue(now))

    def _close(self, settlements: list[tuple[int, int]]) -> None:
        bookings: list[Booking] = []
        for number, amount in settlements:
            reservation = self._books.close(number, amount)
            if reservation is not None:
                bookings.append((int(amount > 0), amount, 1, number))
                self._charged(reservation, amount)
        self._write(bookings)

    def _charged(self, reservation: Reservation, amount: int) -> None:
        if amount:
            self._emit(Charged(reservation.tenant, reservation.provider_id, amount / NANO))

    def _write(self, bookings: list[Booking]) -> None:
        """Write, after what could not be written before; never raises: the books have it already."""
        if self._backlog:
            bookings = self._backlog = self._backlog + bookings
        if not bookings or self._storage is None:
            return
        try:
            self._storage.book(bookings)
        except sqlite3.Error:
            self._backlog = bookings
            self._failed()
        else:
            self._backlog = []

    def _writable(self) -> Storage:
        if self._storage is None and self._clock.now() >= self._next_try:
            self._open()
        if self._backlog:
            self._write([])
        if self._storage is None or self._backlog:
            raise self._failed()
        return self._storage

    def _open(self) -> None:
        self._next_try = self._clock.now() + RETRY_S
        try:
            storage = Storage(self._path)
            totals = storage.totals()
        except sqlite3.Error:
            self._failed()
            return
        self._storage, self._failing = storage, False
        self._next_number = storage.first_number
        for total in totals:
            self._books.carry_over(*total)

    def _failed(self) -> Unavailable:
        """Note the failure, once a row of failures, and make the error that paid calls get."""
        if not self._failing:
            self._failing = True
            self._emit(LedgerFailed())
        return Unavailable(
            "paid sources are out of use: the ledger cannot be written; free ones still answer",
            reason="LEDGER_UNAVAILABLE",
            retry_after_ms=int(RETRY_S * 1_000),
        )


def stored_lines(path: str, budgets_usd: Mapping[str, float], tenant: str = "") -> list[Line]:
    """As :meth:`Ledger.summary`, of a file that no broker has open; settles nothing.

    Raises :class:`broker.ledger.LedgerInUse` and ``sqlite3.Error``.
    """
    books = Books(budgets_usd)
    for owner, provider_id, charges, charged, reserved in read_lines(path):
        books.carry_over(owner, provider_id, charges, charged)
        books.account(owner, provider_id).reserved += reserved
    return list(books.lines(tenant))
