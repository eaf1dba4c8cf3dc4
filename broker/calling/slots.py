"""At most so many calls of one source at a time; the others wait their turn, in order."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from broker.clock import Clock
from broker.providers.interface import Call, Guided, Immediate, Provider
from protos.types import ProviderInfo, ProviderState, Query


class Slots:
    """Stands inside the timeout, so that waiting counts, and outside of spend, so that it costs nothing.

    The limit is the one that ``info`` states when the layer is made.
    """

    def __init__(self, inner: Provider, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock
        self._slots = asyncio.Semaphore(inner.info.max_concurrency)

    @property
    def info(self) -> ProviderInfo:
        return self._inner.info

    @property
    def state(self) -> ProviderState:
        return self._inner.state

    async def start(self) -> None:
        await self._inner.start()

    async def close(self) -> None:
        await self._inner.close()

    async def guide(self, query: Query, call: Call) -> Guided:
        if not self._slots.locked():
            async with self._slots:
                return await self._inner.guide(query, call)
        queued_at = self._clock.now()
        async with self._slots:
            waited_us = int((self._clock.now() - queued_at) * 1e6)
            guided = await self._inner.guide(query, call)
        return replace(guided, queue_us=guided.queue_us + waited_us)


def slotted(inner: Provider, clock: Clock) -> Provider:
    """``inner`` behind its concurrency limit; one that never waits, or has no limit, is returned as it is."""
    if isinstance(inner, Immediate) or not inner.info.max_concurrency:
        return inner
    return Slots(inner, clock)
