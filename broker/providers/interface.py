"""What every source of guidance is to the rest of the broker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from broker.outcomes import AttemptOutcome
from protos.types import Guidance, ProviderInfo, ProviderState, Query, ValidWhile


@dataclass(frozen=True, slots=True)
class Usage:
    """What a source says a call used. ``price_usd``, when stated, settles the call, not the list price."""

    input_tokens: int = 0
    output_tokens: int = 0
    price_usd: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Guided:
    """One reply for the B rows of a query. ``guidance`` is given exactly when ``outcome`` is OK."""

    outcome: AttemptOutcome
    guidance: Guidance | None = None
    confidence: Sequence[float] = ()
    usage: Usage | None = None
    queue_us: int = 0
    provider_us: int = 0
    valid_while: ValidWhile | None = None


@dataclass(slots=True)
class Bill:
    """USD charged so far for one call, attempts that came to nothing included."""

    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Call:
    """Who a call is for and how long it may take; ``deadline`` is absolute on the broker's clock, seconds.

    All attempts of one call have the same ``bill``: whoever charges writes on it, so that what the caller is
    told and what the ledger holds are one number.
    """

    tenant: str
    task: str
    deadline: float
    bill: Bill = field(default_factory=Bill, compare=False)


class ProviderError(Exception):
    """A call that did not complete. ``outcome`` says how; the text stays inside the process."""

    def __init__(self, outcome: AttemptOutcome, message: str = "", retry_after_ms: int | None = None) -> None:
        super().__init__(message or outcome.value)
        self.outcome = outcome
        self.retry_after_ms = retry_after_ms


class Provider(Protocol):
    """A source of guidance. Layers of the call path wrap one and are one themselves.

    ``guide`` is given validated rows and returns what the source said, or raises :class:`ProviderError`;
    being cancelled must free whatever the call held.
    """

    @property
    def info(self) -> ProviderInfo: ...

    @property
    def state(self) -> ProviderState: ...

    async def start(self) -> None: ...

    async def guide(self, query: Query, call: Call) -> Guided: ...

    async def close(self) -> None: ...


@runtime_checkable
class Immediate(Protocol):
    """A source, or a layer around one, that answers some queries without waiting: no task and no timer is
    spent on those.

    ``answers_now`` says whether ``query`` is one of them at this moment; then ``guide_now`` is ``guide``
    without the await: the same result, the same :class:`ProviderError`. A source that ``never_waits`` says so
    of every query. A layer is Immediate exactly when what it wraps is.
    """

    @property
    def info(self) -> ProviderInfo: ...

    @property
    def never_waits(self) -> bool: ...

    def answers_now(self, query: Query) -> bool: ...

    def guide_now(self, query: Query, call: Call) -> Guided: ...
