"""How one provider call ended: the closed set that caching, breakers, billing and metrics read.

The other closed set, how an *ask* ended for its caller, is :class:`protos.types.AskOutcome`.
"""

from __future__ import annotations

from enum import StrEnum


class AttemptOutcome(StrEnum):
    OK = "ok"
    NO_GUIDANCE = "no_guidance"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    INVALID = "invalid"
    INCOMPLETE = "incomplete"
    RATE_LIMITED = "rate_limited"
    MISCONFIGURED = "misconfigured"
    PROVIDER_FAULT = "provider_fault"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"
    HEDGE_LOST = "hedge_lost"

    @property
    def completed(self) -> bool:
        """The provider did its work and sent a reply: such a call is always charged."""
        return self in _COMPLETED

    @property
    def usable(self) -> bool:
        return self is AttemptOutcome.OK


_COMPLETED = frozenset(
    {
        AttemptOutcome.OK,
        AttemptOutcome.NO_GUIDANCE,
        AttemptOutcome.REFUSED,
        AttemptOutcome.TRUNCATED,
        AttemptOutcome.INVALID,
    }
)
