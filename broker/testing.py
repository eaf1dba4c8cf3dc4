"""What tests of the broker need, shipped and typed: a clock moved by hand and a source that follows a script.

>>> import asyncio
>>> async def story():
...     clock = ManualClock()
...     waiting = asyncio.create_task(clock.sleep_until(5.0))
...     await clock.advance(5.0)
...     return waiting.done(), clock.now()
>>> asyncio.run(story())
(True, 5.0)
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from broker.clock import Clock
from broker.outcomes import AttemptOutcome
from broker.providers.interface import Call, Guided, ProviderError, Usage
from protos.types import (
    ActionAdvice,
    Guidance,
    GuidanceKind,
    Price,
    ProviderInfo,
    ProviderKind,
    ProviderState,
    Query,
)

SETTLING_ROUNDS = 20  # loop turns that let woken tasks reach their next wait


async def settle(rounds: int = SETTLING_ROUNDS) -> None:
    """Let every ready task run until it waits for something."""
    for _ in range(rounds):
        await asyncio.sleep(0)


class ManualClock:
    """A :class:`broker.clock.Clock` that stands still until :meth:`advance` moves it. Seconds throughout."""

    def __init__(self, start: float = 0.0, wall: float = 1_000_000.0) -> None:
        self._now = start
        self._wall_offset = wall - start
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._now + self._wall_offset

    @property
    def sleepers(self) -> int:
        """How many tasks wait on this clock."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def sleep_until(self, when: float, exactly: bool = False) -> None:
        if when <= self._now:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (when, next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Move on by ``seconds``, waking sleepers in order, each at its own time."""
        await settle()
        end = self._now + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            when, _, future = heapq.heappop(self._sleepers)
            self._now = max(self._now, when)
            if not future.done():
                future.set_result(None)
                await settle()
        self._now = end
        await settle()


@dataclass(frozen=True, slots=True, eq=False)
class Scripted:
    """One reply, after ``latency_s``. Without ``guidance`` an OK one repeats ``actions`` for every row."""

    outcome: AttemptOutcome = AttemptOutcome.OK
    latency_s: float = 0.0
    actions: Sequence[float] = (0.0,)
    guidance: Guidance | None = None
    confidence: Sequence[float] = ()
    usage: Usage | None = None
    retry_after_ms: int | None = None
    never: bool = False  # no reply at all
    raises: BaseException | None = None  # what a faulty source lets escape

    def reply_to(self, query: Query) -> Guided:
        """What comes back, or :class:`ProviderError` where the scripted outcome is no completed call."""
        if self.raises is not None:
            raise self.raises
        if not self.outcome.completed:
            raise ProviderError(self.outcome, "scripted", self.retry_after_ms)
        if not self.outcome.usable:
            return Guided(self.outcome, usage=self.usage)
        guidance = self.guidance or ActionAdvice(
            np.tile(np.asarray(self.actions, np.float32), (query.rows, 1))
        )
        return Guided(self.outcome, guidance, self.confidence, self.usage)


@dataclass(slots=True)
class LoggedCall:
    """One call as the source saw it. ``ended`` is "running", "replied", "failed" or "cancelled"."""

    query: Query
    call: Call
    started_at: float
    ended_at: float | None = None
    ended: str = "running"


@dataclass(slots=True)
class ScriptedProvider:
    """A source that answers from ``script`` in order, then by ``otherwise`` for good.

    ``calls`` is its own log: the ground truth of what reached it.
    """

    info: ProviderInfo
    clock: Clock
    otherwise: Scripted = field(default_factory=Scripted)
    state: ProviderState = ProviderState.READY
    script: deque[Scripted] = field(default_factory=deque)
    calls: list[LoggedCall] = field(default_factory=list)
    started: int = 0
    closed: int = 0

    async def start(self) -> None:
        self.started += 1

    async def close(self) -> None:
        self.closed += 1

    def then(self, *replies: Scripted) -> ScriptedProvider:
        """Append to the script; returns the provider, so that a test reads in one line."""
        self.script.extend(replies)
        return self

    @property
    def running(self) -> int:
        return sum(entry.ended == "running" for entry in self.calls)

    async def guide(self, query: Query, call: Call) -> Guided:
        reply = self.script.popleft() if self.script else self.otherwise
        entry = LoggedCall(query, call, self.clock.now())
        self.calls.append(entry)
        try:
            guided = await self._reply(reply, query)
        except asyncio.CancelledError:
            entry.ended = "cancelled"
            raise
        except BaseException:
            entry.ended = "failed"
            raise
        else:
            entry.ended = "replied"
            return guided
        finally:
            entry.ended_at = self.clock.now()

    async def _reply(self, reply: Scripted, query: Query) -> Guided:
        if reply.never:
            await asyncio.get_running_loop().create_future()
        if reply.latency_s > 0:
            await self.clock.sleep_until(self.clock.now() + reply.latency_s)
        return reply.reply_to(query)


def scripted_provider(
    provider_id: str = "scripted",
    *,
    clock: Clock | None = None,
    script: Iterable[Scripted] = (),
    otherwise: Scripted | None = None,
    kind: ProviderKind = ProviderKind.RULES,
    price: Price | None = None,
    tasks: tuple[str, ...] = (),
    timeout_ms: int = 5000,
    max_concurrency: int = 0,
    leasable: bool = True,
) -> ScriptedProvider:
    """A :class:`ScriptedProvider` of actions with the usual facts filled in; no ``clock``: a still one."""
    info = ProviderInfo(
        provider_id=provider_id,
        kind=kind,
        guidance_kinds=frozenset({GuidanceKind.ACTION}),
        price=price or Price(),
        tasks=tasks,
        timeout_ms=timeout_ms,
        max_concurrency=max_concurrency,
        leasable=leasable,
    )
    provider = ScriptedProvider(info, clock or ManualClock(), otherwise or Scripted())
    return provider.then(*script)
