"""The innermost layer of a call: money is set aside before, and what was used is charged after."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from broker.accounts import Accounts
from broker.calling.layer import ImmediateLayer, Layer
from broker.clock import Clock
from broker.events import Event, UsageDoubted
from broker.outcomes import AttemptOutcome
from broker.providers.interface import Call, Guided, Immediate, Provider, ProviderError, Usage
from protos.types import Price, Query

RESERVATION_SLACK_S = 30.0  # past the call's deadline, for a broker that is slow to settle
ABSURD_FACTOR = 100.0  # more than so many times the estimate is taken for a fault of the source
MAX_TOKENS = 10_000_000
MAX_USD = 1e6  # of one call


class Spend(Layer):
    """Charges one provider's calls, and writes every charge on the call's bill: only here is one made.

    A call that completed is charged, whatever it said. One that was cut short, by its clock or by its caller,
    is charged its estimate if the source is billed when cancelled, else nothing; one that failed is free.
    """

    def __init__(
        self, inner: Provider, accounts: Accounts, clock: Clock, emit: Callable[[Event], None]
    ) -> None:
        super().__init__(inner)
        self._accounts = accounts
        self._clock = clock
        self._emit = emit

    async def guide(self, query: Query, call: Call) -> Guided:
        """Raises :class:`broker.errors.OverBudget` before the source is asked."""
        price = self._inner.info.price
        if price.free:
            return await self._inner.guide(query, call)
        reservation = self._reserve(price, query, call)
        try:
            guided = await self._inner.guide(query, call)
        except BaseException as error:
            self._charge(reservation, charge_when_cut(error, price, query.rows), call)
            raise
        self._settle(reservation, guided, query, call)
        return guided

    def _reserve(self, price: Price, query: Query, call: Call) -> int:
        ttl_s = max(0.0, call.deadline - self._clock.now()) + RESERVATION_SLACK_S
        estimate = price.estimate(0) * query.rows
        return self._accounts.reserve(call.tenant, self._inner.info.provider_id, estimate, ttl_s)

    def _settle(self, reservation: int, guided: Guided, query: Query, call: Call) -> None:
        info = self._inner.info
        usd, doubted = charge_of(guided.usage, info.price, query.rows)
        if doubted:
            self._emit(UsageDoubted(info.provider_id))
        self._charge(reservation, usd, call)

    def _charge(self, reservation: int, usd: float, call: Call) -> None:
        self._accounts.settle(reservation, usd)
        call.bill.usd += usd


class ImmediateSpend(ImmediateLayer, Spend):
    """The same around a source that answers some queries without waiting."""

    def __init__(
        self,
        inner: Provider,
        immediate: Immediate,
        accounts: Accounts,
        clock: Clock,
        emit: Callable[[Event], None],
    ) -> None:
        Spend.__init__(self, inner, accounts, clock, emit)
        self._immediate = immediate

    def guide_now(self, query: Query, call: Call) -> Guided:
        price = self._immediate.info.price
        if price.free:
            return self._immediate.guide_now(query, call)
        reservation = self._reserve(price, query, call)
        try:
            guided = self._immediate.guide_now(query, call)
        except BaseException as error:
            self._charge(reservation, charge_when_cut(error, price, query.rows), call)
            raise
        self._settle(reservation, guided, query, call)
        return guided


def spending(inner: Provider, accounts: Accounts, clock: Clock, emit: Callable[[Event], None]) -> Spend:
    """The layer around ``inner``; Immediate exactly when ``inner`` is."""
    if isinstance(inner, Immediate):
        return ImmediateSpend(inner, inner, accounts, clock, emit)
    return Spend(inner, accounts, clock, emit)


def charge_of(usage: Usage | None, price: Price, rows: int) -> tuple[float, bool]:
    """USD to charge for a completed call of ``rows`` rows, and whether its stated usage was doubted.

    A price that the source states settles the call; else tokens at their price on top of the price per ask.
    Missing, negative or absurd figures: the estimate stands.
    """
    estimate = price.estimate(0) * rows
    if usage is not None and usage.price_usd is not None:
        stated = usage.price_usd
        sound = math.isfinite(stated) and 0 <= stated <= max(estimate, 0.01) * ABSURD_FACTOR
        return (stated, False) if sound else (estimate, True)
    if not (price.usd_per_input_token or price.usd_per_output_token):
        return estimate, False
    if usage is None or not (
        0 <= usage.input_tokens <= MAX_TOKENS and 0 <= usage.output_tokens <= MAX_TOKENS
    ):
        return estimate, True
    tokens = usage.input_tokens * price.usd_per_input_token
    used = estimate + tokens + usage.output_tokens * price.usd_per_output_token
    return (used, False) if used < MAX_USD else (estimate, True)


def charge_when_cut(error: BaseException, price: Price, rows: int) -> float:
    """USD to charge for a call that did not complete."""
    cut = isinstance(error, asyncio.CancelledError) or (
        isinstance(error, ProviderError)
        and error.outcome in (AttemptOutcome.DEADLINE, AttemptOutcome.CANCELLED, AttemptOutcome.HEDGE_LOST)
    )
    return price.estimate(0) * rows if cut and price.billed_when_cancelled else 0.0
