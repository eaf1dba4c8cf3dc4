"""At most so many calls of one source at a time; the others wait their turn, in order."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from broker.calling.layer import ImmediateLayer, Layer
from broker.clock import Clock
from broker.providers.interface import Call, Guided, Immediate, Provider
from protos.types import Query


class Slots(Layer):
    """Stands inside the timeout, so that waiting counts, and outside of spend, so that it costs nothing.

    ``slots`` may be shared by several layers around one source.
    """

    def __init__(self, inner: Provider, clock: Clock, slots: asyncio.Semaphore) -> None:
        super().__init__(inner)
        self._clock = clock
        self._slots = slots

    async def guide(self, query: Query, call: Call) -> Guided:
        if not self._slots.locked():
            async with self._slots:
                return await self._inner.guide(query, call)
        queued_at = self._clock.now()
        async with self._slots:
            waited_us = int((self._clock.now() - queued_at) * 1e6)
            guided = await self._inner.guide(query, call)
        return replace(guided, queue_us=guided.queue_us + waited_us)


class ImmediateSlots(ImmediateLayer, Slots):
    """The same around a source that answers some queries without waiting: only while a place is free, so that
    nobody overtakes those who wait their turn."""

    def __init__(self, inner: Provider, immediate: Immediate, clock: Clock, slots: asyncio.Semaphore) -> None:
        Slots.__init__(self, inner, clock, slots)
        self._immediate = immediate

    def answers_now(self, query: Query) -> bool:
        return not self._slots.locked() and self._immediate.answers_now(query)


def slotted(inner: Provider, clock: Clock, slots: asyncio.Semaphore | None) -> Provider:
    """``inner`` behind ``slots``; one that never waits, or has no limit, is returned as it is."""
    if slots is None:
        return inner
    if isinstance(inner, Immediate):
        return inner if inner.never_waits else ImmediateSlots(inner, inner, clock, slots)
    return Slots(inner, clock, slots)


def slots_of(provider: Provider) -> asyncio.Semaphore | None:
    """As many slots as the source's ``max_concurrency``; None: it has no limit."""
    most = provider.info.max_concurrency
    return asyncio.Semaphore(most) if most else None
