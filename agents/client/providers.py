"""The provider table, kept live by the session: what a meta-policy reads without a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from protos.types import Price, ProviderInfo, ProviderState, ProviderUpdate

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ProviderView:
    """One provider: what it declares, and how it is doing (None until the broker has said)."""

    info: ProviderInfo
    update: ProviderUpdate | None = None

    @property
    def provider_id(self) -> str:
        return self.info.provider_id

    @property
    def ready(self) -> bool:
        """A provider of which nothing is known yet counts as ready: the broker lists only what it serves."""
        return self.update is None or self.update.state is ProviderState.READY

    @property
    def price(self) -> Price:
        """The live price where the broker has said one, else the listed one."""
        return self.info.price if self.update is None else self.update.price


@dataclass(frozen=True, slots=True, eq=False)
class ProviderSnapshot:
    """One row a provider, `[P]`, in the order of `ids`. Latencies are 0 where `samples` is 0."""

    ids: tuple[str, ...]
    ready: NDArray[np.bool_]
    leasable: NDArray[np.bool_]
    p50_ms: Column
    p95_ms: Column
    p99_ms: Column
    samples: NDArray[np.int64]
    usd_per_ask: Column
    usd_per_leased_step: Column
    in_flight: NDArray[np.int64]
    queued: NDArray[np.int64]


class ProviderTable:
    """Iterates over `ProviderView`s in the broker's order. `generation` is the broker's configuration's."""

    def __init__(self) -> None:
        self.generation = 0
        self._views: dict[str, ProviderView] = {}

    def __iter__(self) -> Iterator[ProviderView]:
        return iter(tuple(self._views.values()))

    def __len__(self) -> int:
        return len(self._views)

    def __contains__(self, provider_id: str) -> bool:
        return provider_id in self._views

    def get(self, provider_id: str) -> ProviderView | None:
        return self._views.get(provider_id)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._views)

    def replace_all(self, infos: Iterable[ProviderInfo], generation: int) -> None:
        """A new session's list. Nothing of the old states is kept: they were another broker's."""
        self._views = {info.provider_id: ProviderView(info) for info in infos}
        self.generation = generation

    def update(self, update: ProviderUpdate) -> None:
        """One live update; an older configuration's is ignored, REMOVED takes the provider out."""
        if update.config_generation < self.generation:
            return
        self.generation = update.config_generation
        known = self._views.get(update.provider_id)
        info = update.info or (known.info if known is not None else None)
        if update.state is ProviderState.REMOVED or info is None:
            self._views = {key: view for key, view in self._views.items() if key != update.provider_id}
            return
        self._views = {**self._views, update.provider_id: ProviderView(info, replace(update, info=None))}

    def snapshot(self, ids: Sequence[str] | None = None) -> ProviderSnapshot:
        """Arrays of all providers, or of `ids` in that order; an unknown id is a row that is not ready."""
        names = self.ids if ids is None else tuple(ids)
        views = [self._views.get(name) for name in names]
        updates = [None if view is None else view.update for view in views]
        prices = [Price() if view is None else view.price for view in views]
        return ProviderSnapshot(
            ids=names,
            ready=np.array([view is not None and view.ready for view in views], dtype=np.bool_),
            leasable=np.array([view is not None and view.info.leasable for view in views], dtype=np.bool_),
            p50_ms=np.array([0.0 if one is None else one.latency.p50_ms for one in updates]),
            p95_ms=np.array([0.0 if one is None else one.latency.p95_ms for one in updates]),
            p99_ms=np.array([0.0 if one is None else one.latency.p99_ms for one in updates]),
            samples=np.array([0 if one is None else one.latency.samples for one in updates], dtype=np.int64),
            usd_per_ask=np.array([price.usd_per_ask for price in prices]),
            usd_per_leased_step=np.array([price.usd_per_leased_step for price in prices]),
            in_flight=np.array([0 if one is None else one.in_flight for one in updates], dtype=np.int64),
            queued=np.array([0 if one is None else one.queued for one in updates], dtype=np.int64),
        )
