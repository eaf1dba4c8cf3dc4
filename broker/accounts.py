"""What the call path knows of money: reserve first, settle on what was used. The ledger implements it."""

from __future__ import annotations

from typing import Protocol


class Accounts(Protocol):
    """Amounts are USD. Every method is durable when it returns; the process may be killed right after."""

    def reserve(self, tenant: str, provider_id: str, amount_usd: float, ttl_s: float) -> int:
        """Set an amount aside and return the reservation's id.

        A reservation whose end is never told settles at what is left of its estimate once ``ttl_s`` is over
        or the broker starts again. Raises :class:`broker.errors.OverBudget` when the tenant's budget does
        not cover it, :class:`broker.errors.Unavailable` when the ledger cannot be written.
        """
        ...

    def charge(self, reservations: list[tuple[int, float]]) -> None:
        """Charge parts against open reservations, in one transaction (leased steps)."""
        ...

    def settle(self, reservation: int, amount_usd: float) -> None:
        """Charge the last part, release the rest, close. A second settle of the same id changes nothing."""
        ...

    def saved(self, tenant: str, provider_id: str, amount_usd: float, count: int) -> None:
        """Note what a hit or a shared call would have cost. Not durable: it is no charge."""
        ...
