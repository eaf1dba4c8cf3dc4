"""Leases: asks that are answered for so many steps. What one is, and which rows it may be sent. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from broker.errors import InvalidRequest, PreconditionFailed, Unavailable
from broker.routing.interface import Plan
from protos.types import AskOptions, Price

IDLE_PERIODS = 20
MIN_IDLE_S = 1.0


@dataclass(slots=True, eq=False)
class Lease:
    """``hold_steps`` steps from ``first_step`` on, answered by the one source of ``plan``.

    ``next_step`` is the earliest step that may still be sent; ``reservation`` None: nothing is ever charged.
    ``counted``: the ask's outcome has been told; ``billed``: its price per ask has been charged.
    """

    ask_id: int
    lane: int
    episode: int
    lane_generation: int
    first_step: int
    hold_steps: int
    options: AskOptions
    plan: Plan
    price: Price
    received_at: float
    next_step: int
    used_at: float
    idle_s: float
    reservation: int | None = None
    in_flight: int = 0
    counted: bool = False
    billed: bool = False
    ended: bool = False

    @property
    def provider_id(self) -> str:
        return self.plan.attempts[0].provider_id

    @property
    def last_step(self) -> int:
        return self.first_step + self.hold_steps - 1

    def charge(self) -> float:
        """USD for the next step that is served: the price per ask comes with the first of them."""
        return self.price.usd_per_leased_step + (0.0 if self.billed else self.price.usd_per_ask)

    def take(self, lane: int, step: int, now: float) -> None:
        """Accept the row of one step. Raises for a row that is not this lease's next, naming the field."""
        if lane != self.lane:
            raise InvalidRequest(
                "lease_rows.lane: the lease is another lane's", "INVALID_VALUE", "lease_rows.lane"
            )
        if not self.next_step <= step <= self.last_step:
            raise InvalidRequest(
                f"lease_rows.step: {step} is not one of {self.next_step} to {self.last_step}, each sent once",
                "LEASE_STEP",
                "lease_rows.step",
            )
        self.next_step = step + 1
        self.used_at = now
        self.in_flight += 1

    @property
    def spent(self) -> bool:
        """Whether its last step has been sent and nothing of it is under way."""
        return self.next_step > self.last_step and not self.in_flight


def idle_s(period_us: int) -> float:
    """Seconds without a row after which a lease ends."""
    return max(MIN_IDLE_S, IDLE_PERIODS * period_us / 1e6)


def lease_is_over() -> PreconditionFailed:
    return PreconditionFailed("lease_rows.ask_id: no such lease is open", "LEASE_ENDED", "lease_rows.ask_id")


def no_lease() -> Unavailable:
    return Unavailable("no source of this task can grant a lease now", "NO_LEASE", retry_after_ms=1000)
