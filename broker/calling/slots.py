"""At most so many calls of one source at a time; the others wait their turn, in order."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from broker.calling.layer import Layer
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


def slotted(inner: Provider, clock: Clock, slots: asyncio.Semaphore | None) -> Provider:
    """``inner`` behind ``slots``; one that never waits, or has no limit, is returned as it is."""
    return inner if slots is None or isinstance(inner, Immediate) else Slots(inner, clock, slots)


def slots_of(provider: Provider) -> asyncio.Semaphore | None:
    """As many slots as the source's ``max_concurrency``; None: it has no limit."""
    most = provider.info.max_concurrency
    return asyncio.Semaphore(most) if most else None
