"""The listener that counts. Units are seconds and USD throughout."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

from broker.events import Event
from broker.metrics.asks import AskMetrics
from broker.metrics.handlers import Handlers
from broker.metrics.names import Names
from broker.metrics.sessions import ProcessMetrics, SessionMetrics
from broker.metrics.sources import MoneyMetrics, SourceMetrics


class Metrics:
    """Listens to events and exposes a registry of its own, so that a process may hold two brokers."""

    def __init__(
        self, tenants: Iterable[str] = (), tasks: Iterable[str] = (), providers: Iterable[str] = ()
    ) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._names = Names()
        self.know(tenants, tasks, providers)
        self.asks = AskMetrics(self.registry, self._names)
        self.sources = SourceMetrics(self.registry, self._names)
        self.money = MoneyMetrics(self.registry, self._names)
        self.sessions = SessionMetrics(self.registry, self._names)
        self.process = ProcessMetrics(self.registry)
        self._handlers: Handlers = {
            **self.asks.handlers(),
            **self.sources.handlers(),
            **self.money.handlers(),
            **self.sessions.handlers(),
            **self.process.handlers(),
        }

    def know(self, tenants: Iterable[str], tasks: Iterable[str], providers: Iterable[str]) -> None:
        """Take over the configured names (at start and at a reload)."""
        self._names.know((*tenants, *tasks, *providers))

    def __call__(self, event: Event) -> None:
        self._handlers[type(event)](event)

    def handler_for(self, kind: type) -> Callable[[Any], None] | None:
        """See :class:`broker.events.Events`."""
        return self._handlers.get(kind)

    def exposition(self) -> bytes:
        """The text that Prometheus scrapes."""
        return generate_latest(self.registry)
