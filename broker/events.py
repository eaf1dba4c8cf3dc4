"""What happened, as frozen facts. Metrics, logs and traces listen; the core knows none of them.

Counting rule: every ask emits one :class:`AskReceived` and one :class:`AskEnded`, whatever becomes of it, so
that received minus ended is what is in flight and the outcomes add up. Durations are in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from broker.outcomes import AttemptOutcome
from protos.types import AskOutcome, CacheStatus, ProviderState


@dataclass(frozen=True, slots=True)
class AskReceived:
    """Rows entered handling. ``task`` is a configured name, or "other"."""

    tenant: str
    task: str
    rows: int = 1


@dataclass(frozen=True, slots=True)
class AskEnded:
    """Rows got their first usable answer, or ended without one. ``seconds`` is from receipt."""

    tenant: str
    task: str
    outcome: AskOutcome
    provider_id: str
    seconds: float
    rows: int = 1


@dataclass(frozen=True, slots=True)
class LeaseStepServed:
    """Rows of open leases answered (or not) after their first step."""

    provider_id: str
    outcome: AttemptOutcome
    seconds: float
    rows: int = 1


@dataclass(frozen=True, slots=True)
class LateAnswerSent:
    """A FINAL or CORRECTION that followed an earlier answer or a pending NONE."""

    kind: str
    provider_id: str
    rows: int = 1


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    provider_id: str
    rows: int = 1


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """``detail`` is internal text of a failure: for logs below INFO, never for callers."""

    provider_id: str
    outcome: AttemptOutcome
    seconds: float
    rows: int = 1
    detail: str = ""


@dataclass(frozen=True, slots=True)
class CacheLookedUp:
    provider_id: str
    status: CacheStatus
    rows: int = 1


@dataclass(frozen=True, slots=True)
class Charged:
    tenant: str
    provider_id: str
    usd: float


@dataclass(frozen=True, slots=True)
class Saved:
    """What hits and followers of a shared call would have cost."""

    tenant: str
    provider_id: str
    usd: float


@dataclass(frozen=True, slots=True)
class UsageDoubted:
    """Usage was missing, negative or absurd; the estimate stands."""

    provider_id: str


@dataclass(frozen=True, slots=True)
class LedgerFailed:
    """The ledger could not be written: paid calls are refused until it can."""


@dataclass(frozen=True, slots=True)
class InvalidInput:
    """A row or call was refused as the caller's fault; ``reason`` is from the closed list in errors."""

    reason: str


@dataclass(frozen=True, slots=True)
class AnswerDropped:
    """An answer could no longer be acted on (ended episode, older generation, session gone)."""

    why: str
    rows: int = 1


@dataclass(frozen=True, slots=True)
class UpdatesDropped:
    """A slow reader lost its oldest updates; answers are never dropped."""

    count: int


@dataclass(frozen=True, slots=True)
class SessionOpened:
    tenant: str
    lanes: int


@dataclass(frozen=True, slots=True)
class SessionClosed:
    tenant: str
    lanes: int
    why: str


@dataclass(frozen=True, slots=True)
class OutcomeReported:
    """An agent told what became of an ask."""

    provider_id: str
    used: bool
    status: str = "accepted"  # accepted, duplicate, unknown


@dataclass(frozen=True, slots=True)
class ProviderStateChanged:
    provider_id: str
    state: ProviderState


@dataclass(frozen=True, slots=True)
class Reloaded:
    """``why``: what was wrong with the configuration, where it was refused."""

    ok: bool
    config_generation: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class LoopLagged:
    """How late the event loop woke from a short sleep."""

    seconds: float


Event = (
    AskReceived
    | AskEnded
    | LeaseStepServed
    | LateAnswerSent
    | AttemptStarted
    | AttemptEnded
    | CacheLookedUp
    | Charged
    | Saved
    | UsageDoubted
    | LedgerFailed
    | InvalidInput
    | AnswerDropped
    | UpdatesDropped
    | SessionOpened
    | SessionClosed
    | OutcomeReported
    | ProviderStateChanged
    | Reloaded
    | LoopLagged
)

Listener = Callable[[Event], None]
Handler = Callable[[Any], None]


@dataclass(slots=True)
class Events:
    """Hands each event to every listener, in order, at once.

    A listener that has a ``handler_for(kind)`` is asked once for each kind of event which function takes it,
    or None: most listeners care for few of the events that every ask causes.
    """

    listeners: list[Listener] = field(default_factory=list)
    _handlers: dict[type, tuple[Handler, ...]] = field(default_factory=dict)

    def listen(self, listener: Listener) -> None:
        self.listeners.append(listener)
        self._handlers.clear()

    def emit(self, event: Event) -> None:
        kind = type(event)
        handlers = self._handlers.get(kind)
        if handlers is None:
            handlers = self._handlers[kind] = tuple(self._find(kind))
        for handle in handlers:
            handle(event)

    def _find(self, kind: type) -> Iterator[Handler]:
        for listener in self.listeners:
            ask = getattr(listener, "handler_for", None)
            handler: Handler | None = listener if ask is None else ask(kind)
            if handler is not None:
                yield handler
