"""Money: a durable :class:`Ledger` that reserves first and settles on what was used."""

from broker.ledger.books import Line
from broker.ledger.ledger import Ledger
from broker.ledger.storage import LedgerInUse, read_lines

__all__ = ["Ledger", "LedgerInUse", "Line", "read_lines"]
