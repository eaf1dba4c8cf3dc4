"""The provider table as a decision sees it: prices and states as the broker tells them, latencies as
measured here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from agents.client import Session
from meta_policy.live.arrivals import Arrivals
from meta_policy.view import Floats, ProviderSnapshot
from protos.types import ProviderState

ENOUGH = 64
"""Answers after which a measured latency is believed."""

REFRESH_EVERY = 25
"""Control steps between two looks, unless the connection comes or goes."""

Quantiles = tuple[float, float, float]
"""p50, p95 and p99 in milliseconds."""


class LiveTable:
    """`snapshot` is what `refresh` saw last. With the broker gone no provider is ready."""

    def __init__(
        self,
        session: Session,
        provider_ids: Sequence[str],
        arrivals: Arrivals,
        expected: Mapping[str, Quantiles],
    ) -> None:
        self._session, self._ids, self._arrivals = session, tuple(provider_ids), arrivals
        self._expected = expected
        self._age = 0
        self._connected = session.connected
        self.snapshot = self._look()

    def refresh(self) -> None:
        self._age += 1
        if self._age >= REFRESH_EVERY or self._session.connected != self._connected:
            self._age = 0
            self._connected = self._session.connected
            self.snapshot = self._look()

    def _look(self) -> ProviderSnapshot:
        told = self._session.providers.snapshot(self._ids)
        p50, p95, p99 = np.array([self._quantiles(name) for name in self._ids]).T
        return ProviderSnapshot(
            self._ids,
            told.usd_per_ask,
            told.usd_per_leased_step,
            p50,
            p95,
            p99,
            np.array([self._state(name) for name in self._ids], np.int64),
            told.queued,
        )

    def _state(self, name: str) -> int:
        if not self._session.connected:
            return int(ProviderState.COOLING)
        known = self._session.providers.get(name)
        if known is None:
            return int(ProviderState.REMOVED)
        return int(ProviderState.READY if known.update is None else known.update.state)

    def _quantiles(self, name: str) -> Floats | Quantiles:
        """Measured end to end once there is enough; else as expected; else what the broker says of the
        source."""
        measured = self._arrivals.window[name]
        if len(measured) >= ENOUGH:
            return np.quantile(measured, (0.5, 0.95, 0.99))
        if name in self._expected:
            return self._expected[name]
        known = self._session.providers.get(name)
        if known is None or known.update is None:
            return (0.0, 0.0, 0.0)
        latency = known.update.latency
        return (latency.p50_ms, latency.p95_ms, latency.p99_ms)
