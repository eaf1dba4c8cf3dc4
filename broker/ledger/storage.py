"""The ledger's file: SQLite in WAL mode, one statement a booking, each its own durable transaction.

``synchronous=NORMAL`` hands every commit to the operating system before the statement returns, so that a
killed process loses nothing; the disk is only waited for at checkpoints, which is why those are run from
outside (:meth:`Storage.checkpoint`) and not in the middle of an ask. ``locking_mode=EXCLUSIVE`` keeps a
second broker off the file (it would take our reservations for abandoned ones) and spares the locks of every
statement: with it and the small page a reserve and its booking take a third of the time they take without.

A reservation is a row; a charge adds to it; settling closes it. Closed rows are folded into totals now and
then, so that the hot path never writes two tables.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from broker.config.model import IN_MEMORY

SCHEMA_VERSION = 1
FOLD_AFTER = 512  # closed rows
CHECKPOINT_AFTER = 16_384  # bookings
_NUMBERS_A_RUN = 1 << 40

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (number INTEGER PRIMARY KEY) STRICT;
CREATE TABLE IF NOT EXISTS reservations (
  number INTEGER PRIMARY KEY,  -- run * 2^40 + count: never used twice
  tenant TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  estimate INTEGER NOT NULL,   -- nano-USD, as all amounts
  charges INTEGER NOT NULL DEFAULT 0,
  charged INTEGER NOT NULL DEFAULT 0,
  closed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS totals (
  tenant TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  charges INTEGER NOT NULL,
  charged INTEGER NOT NULL,
  PRIMARY KEY (tenant, provider_id)
) STRICT, WITHOUT ROWID;
"""
_INSERT = "INSERT INTO reservations (number, tenant, provider_id, estimate) VALUES (?, ?, ?, ?)"
_BOOK = """UPDATE reservations SET charges = charges + ?, charged = charged + ?, closed = ?
WHERE number = ? AND closed = 0"""
_SETTLE_ABANDONED = """UPDATE reservations
SET charges = charges + (charged < estimate), charged = max(charged, estimate), closed = 1 WHERE closed = 0"""
_FOLD = """INSERT INTO totals (tenant, provider_id, charges, charged)
SELECT tenant, provider_id, sum(charges), sum(charged) FROM reservations WHERE closed = 1 GROUP BY 1, 2
ON CONFLICT DO UPDATE SET charges = charges + excluded.charges, charged = charged + excluded.charged"""
_TOTALS = "SELECT tenant, provider_id, charges, charged FROM totals"
_OPEN_AND_CLOSED = """SELECT tenant, provider_id, sum(charges), sum(charged), sum(reserved) FROM (
  SELECT tenant, provider_id, charges, charged, 0 AS reserved FROM totals
  UNION ALL
  SELECT tenant, provider_id, charges, charged, (1 - closed) * max(0, estimate - charged) FROM reservations
) GROUP BY 1, 2 ORDER BY 1, 2"""

Booking = tuple[int, int, int, int]
"""charges, charged, closed, number."""


class LedgerInUse(Exception):
    """Another process has the ledger's file."""


class Storage:
    """Every method raises ``sqlite3.Error`` when the file cannot be read or written."""

    def __init__(self, path: str) -> None:
        """Open or create the file and settle what a dead run left open. Raises :class:`LedgerInUse`."""
        self._path = path
        self._connection = sqlite3.connect(path, timeout=0.0, isolation_level=None)
        self._execute = self._connection.cursor().execute
        self._unfolded = self._bookings = 0
        try:
            self._prepare()
            self.first_number = self._new_run() * _NUMBERS_A_RUN
        except sqlite3.OperationalError as error:
            self._connection.close()
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise LedgerInUse(f"{path} is in use by another process") from None
            raise

    def _prepare(self) -> None:
        for pragma in (
            "page_size = 512",
            "locking_mode = EXCLUSIVE",
            "journal_mode = WAL",
            "synchronous = NORMAL",
            f"wal_autocheckpoint = {8 * CHECKPOINT_AFTER}",
        ):
            self._execute(f"PRAGMA {pragma}")
        _check_version(self._execute("PRAGMA user_version").fetchone()[0], self._path)
        self._connection.executescript(
            f"BEGIN IMMEDIATE;{_SCHEMA}PRAGMA user_version = {SCHEMA_VERSION};COMMIT;"
        )

    def _new_run(self) -> int:
        self._transaction([(_SETTLE_ABANDONED, ()), ("INSERT INTO runs DEFAULT VALUES", ())])
        self.fold()
        return int(self._execute("SELECT max(number) FROM runs").fetchone()[0])

    def totals(self) -> list[tuple[str, str, int, int]]:
        """Tenant, source, charges, nano-USD charged: all of it once nothing is open."""
        return self._execute(_TOTALS).fetchall()

    def reserve(self, number: int, tenant: str, provider_id: str, estimate: int) -> None:
        self._execute(_INSERT, (number, tenant, provider_id, estimate))

    def book(self, bookings: Sequence[Booking]) -> None:
        """All of them or, with an error, none."""
        if len(bookings) == 1:
            self._execute(_BOOK, bookings[0])
        else:
            self._transaction((_BOOK, booking) for booking in bookings)
        self._bookings += len(bookings)
        self._unfolded += sum(closed for _, _, closed, _ in bookings)
        if self._unfolded >= FOLD_AFTER:
            self.fold()

    def fold(self) -> None:
        self._transaction([(_FOLD, ()), ("DELETE FROM reservations WHERE closed = 1", ())])
        self._unfolded = 0

    @property
    def wants_checkpoint(self) -> bool:
        return self._bookings >= CHECKPOINT_AFTER

    def sync(self) -> None:
        """Wait for the disk beside the connection, in a thread; :meth:`checkpoint` is quick after it."""
        if self._path != IN_MEMORY:
            log = os.open(f"{self._path}-wal", os.O_RDONLY)
            try:
                os.fsync(log)
            finally:
                os.close(log)

    def checkpoint(self) -> None:
        self._bookings = 0
        self._execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        self._connection.close()

    def _transaction(self, statements: Iterable[tuple[str, tuple[Any, ...]]]) -> None:
        self._execute("BEGIN IMMEDIATE")
        try:
            for statement, values in statements:
                self._execute(statement, values)
            self._execute("COMMIT")
        except sqlite3.Error:
            if self._connection.in_transaction:
                self._execute("ROLLBACK")
            raise


def _check_version(version: int, path: str) -> None:
    if version not in (0, SCHEMA_VERSION):
        fault = f"{path} was written by another version of the broker (schema {version})"
        raise sqlite3.DatabaseError(fault)


def read_lines(path: str) -> list[tuple[str, str, int, int, int]]:
    """Tenant, source, charges, charged, reserved of a file that no broker has open; settles nothing.

    Raises :class:`LedgerInUse` and ``sqlite3.Error``.
    """
    connection = sqlite3.connect(f"file:{path}?mode=rw", uri=True, timeout=0.0)
    try:
        _check_version(connection.execute("PRAGMA user_version").fetchone()[0], path)
        return connection.execute(_OPEN_AND_CLOSED).fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise LedgerInUse(f"{path} is in use by a running broker") from None
        raise
    finally:
        connection.close()
