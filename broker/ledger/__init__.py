"""Money: a durable :class:`Ledger` that reserves first and settles on what was used."""

from broker.ledger.books import Line
from broker.ledger.ledger import Ledger, stored_lines
from broker.ledger.storage import LedgerInUse

__all__ = ["Ledger", "LedgerInUse", "Line", "stored_lines"]
