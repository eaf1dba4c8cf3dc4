"""What the service knows of calling: a plan goes in, what came of its attempts comes out.

Per attempt the layers are, from the outside: timeout, spend, the source. Whoever follows the plan emits
AttemptStarted and AttemptEnded, keeps the latency of attempts that were usable, and decides on fallbacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from broker.providers.interface import Call, Guided
from broker.routing.interface import Plan
from protos.types import Query


@dataclass(frozen=True, slots=True, eq=False)
class Called:
    """A completed call. ``charged_usd`` is what it has cost for all its rows, attempts before included.

    ``attempts`` counts all that were scheduled; ``degraded``: the fallback answered.
    """

    guided: Guided
    provider_id: str
    charged_usd: float = 0.0
    attempts: int = 1
    degraded: bool = False


class Caller(Protocol):
    """Follows plans. Raises :class:`broker.errors.BrokerError` leaves only: Unavailable with a retry hint,
    DeadlineReached, OverBudget, Internal. A CancelledError that a source raised by itself is its fault and
    the next attempt's turn; one that asks the caller's own task to end is let through.
    """

    async def follow(self, plan: Plan, query: Query, call: Call) -> Called: ...

    def follow_now(self, plan: Plan, query: Query, call: Call) -> Called | None:
        """The same without waiting, where the first source is Immediate and answers; None: follow it."""
        ...
