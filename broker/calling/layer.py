"""What stands around a source and is one itself: all but ``guide`` is the source's own."""

from __future__ import annotations

from broker.providers.interface import Call, Guided, Immediate, Provider
from protos.types import ProviderInfo, ProviderState, Query


class Layer:
    """A :class:`broker.providers.interface.Provider` around ``inner``; a layer says what its ``guide`` adds.

    The facts are read anew every time: a remote source learns its own at start, a degraded one changes state.
    """

    def __init__(self, inner: Provider) -> None:
        self._inner = inner

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
        return await self._inner.guide(query, call)


class ImmediateLayer(Layer):
    """The same around a source that answers some queries without waiting, and so does the layer."""

    def __init__(self, inner: Provider, immediate: Immediate) -> None:
        super().__init__(inner)
        self._immediate = immediate

    @property
    def never_waits(self) -> bool:
        return self._immediate.never_waits

    def answers_now(self, query: Query) -> bool:
        return self._immediate.answers_now(query)

    def guide_now(self, query: Query, call: Call) -> Guided:
        return self._immediate.guide_now(query, call)
