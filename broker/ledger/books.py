"""The arithmetic of accounts, in memory and without I/O: what is left, set aside and charged.

Amounts here are whole nano-USD, so that a thousand charges of 0.0002 USD are 0.2 USD and not almost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

NANO = 1_000_000_000


def to_nano(usd: float) -> int:
    """Raises ValueError for a negative or non-finite amount: no caller may hand one in."""
    if not 0.0 <= usd < 1e9:
        raise ValueError(f"not an amount in USD: {usd}")
    return round(usd * NANO)


@dataclass(frozen=True, slots=True)
class Line:
    """What a tenant spent at a source, in USD. ``budget_usd`` is the tenant's; None: no limit."""

    tenant: str
    provider_id: str
    charges: int
    charged_usd: float
    reserved_usd: float
    saved_usd: float
    budget_usd: float | None


@dataclass(slots=True)
class Account:
    """One tenant at one source."""

    charges: int = 0
    charged: int = 0
    reserved: int = 0
    saved: int = 0


@dataclass(slots=True)
class Reservation:
    tenant: str
    account: Account
    provider_id: str
    left: int
    expires_at: float


class Books:
    """Open reservations, the accounts they belong to, and what each tenant has committed in all."""

    def __init__(self, budgets_usd: Mapping[str, float]) -> None:
        self._accounts: dict[tuple[str, str], Account] = {}
        self._committed: dict[str, int] = {}  # charged + reserved, by tenant
        self.set_budgets(budgets_usd)
        self.reservations: dict[int, Reservation] = {}

    def set_budgets(self, budgets_usd: Mapping[str, float]) -> None:
        self._budgets = {tenant: to_nano(usd) for tenant, usd in budgets_usd.items()}

    def carry_over(self, tenant: str, provider_id: str, charges: int, charged: int) -> None:
        """Add what earlier runs charged."""
        account = self.account(tenant, provider_id)
        account.charges += charges
        account.charged += charged
        self._commit(tenant, charged)

    def covers(self, tenant: str, amount: int) -> bool:
        budget = self._budgets.get(tenant)
        return budget is None or self._committed.get(tenant, 0) + amount <= budget

    def open(self, number: int, tenant: str, provider_id: str, amount: int, expires_at: float) -> None:
        account = self.account(tenant, provider_id)
        self.reservations[number] = Reservation(tenant, account, provider_id, amount, expires_at)
        account.reserved += amount
        self._commit(tenant, amount)

    def charge(self, number: int, amount: int) -> Reservation | None:
        """Book part of an open reservation; None when it is not open (any more)."""
        reservation = self.reservations.get(number)
        if reservation is not None:
            self._book(reservation, amount)
        return reservation

    def close(self, number: int, amount: int) -> Reservation | None:
        """Book the last part and release the rest; None when it is not open (any more)."""
        reservation = self.reservations.pop(number, None)
        if reservation is not None:
            self._book(reservation, amount)
            reservation.account.reserved -= reservation.left
            self._commit(reservation.tenant, -reservation.left)
        return reservation

    def overdue(self, now: float) -> list[tuple[int, int]]:
        """Numbers of expired reservations and what is left of each."""
        return [(n, r.left) for n, r in self.reservations.items() if r.expires_at <= now]

    def account(self, tenant: str, provider_id: str) -> Account:
        key = (tenant, provider_id)
        account = self._accounts.get(key)
        if account is None:
            account = self._accounts[key] = Account()
        return account

    def lines(self, tenant: str = "") -> Iterator[Line]:
        for (owner, provider_id), account in sorted(self._accounts.items()):
            if tenant in ("", owner):
                yield self._line(owner, provider_id, account)

    def _line(self, tenant: str, provider_id: str, account: Account) -> Line:
        budget = self._budgets.get(tenant)
        return Line(
            tenant,
            provider_id,
            charges=account.charges,
            charged_usd=account.charged / NANO,
            reserved_usd=account.reserved / NANO,
            saved_usd=account.saved / NANO,
            budget_usd=None if budget is None else budget / NANO,
        )

    def _book(self, reservation: Reservation, amount: int) -> None:
        """Charge ``amount``; more than was set aside is charged all the same."""
        account = reservation.account
        within = min(amount, reservation.left)
        reservation.left -= within
        account.reserved -= within
        account.charged += amount
        account.charges += amount > 0
        self._commit(reservation.tenant, amount - within)

    def _commit(self, tenant: str, amount: int) -> None:
        self._committed[tenant] = self._committed.get(tenant, 0) + amount
