"""Who is connected, what they report, and how the process itself is doing."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from broker import events
from broker.metrics.handlers import Handlers
from broker.metrics.names import Names
from broker.metrics.series import Counter, Gauge, Histogram


class SessionMetrics:
    """Open sessions, their lanes, and what their agents tell."""

    def __init__(self, registry: CollectorRegistry, names: Names) -> None:
        self._names = names
        self.open = Gauge(registry, "guidance_sessions", "Open sessions.", ("tenant",))
        self.lanes = Gauge(registry, "guidance_lanes", "Lanes of open sessions.", ("tenant",))
        self.closed = Counter(
            registry, "guidance_sessions_closed", "Sessions that ended, and why.", ("tenant", "reason")
        )
        self.updates_dropped = Counter(
            registry, "guidance_updates_dropped", "Updates that slow readers lost."
        )
        self.outcomes = Counter(
            registry,
            "guidance_outcomes_reported",
            "What agents told about answers.",
            ("provider", "used", "status"),
        )

    def handlers(self) -> Handlers:
        return {
            events.SessionOpened: self._opened,
            events.SessionClosed: self._closed,
            events.UpdatesDropped: lambda e: self.updates_dropped.add((), e.count),
            events.OutcomeReported: self._outcome_reported,
        }

    def _opened(self, event: events.SessionOpened) -> None:
        tenant = (self._names.name(event.tenant),)
        self.open.add(tenant)
        self.lanes.add(tenant, event.lanes)

    def _closed(self, event: events.SessionClosed) -> None:
        tenant = (self._names.name(event.tenant),)
        self.open.add(tenant, -1)
        self.lanes.add(tenant, -event.lanes)
        self.closed.add((*tenant, self._names.reason(event.why)))

    def _outcome_reported(self, event: events.OutcomeReported) -> None:
        used = "yes" if event.used else "no"
        labels = (self._names.name(event.provider_id), used, self._names.reason(event.status))
        self.outcomes.add(labels)


class ProcessMetrics:
    """The configuration that is served and the loop that serves it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.reloads = Counter(
            registry, "guidance_config_reloads", "Reloads of the configuration.", ("result",)
        )
        self.config_generation = Gauge(
            registry, "guidance_config_generation", "The configuration that is served now."
        )
        self.loop_lag = Histogram(
            registry, "guidance_loop_lag_seconds", "How late the event loop woke from a short sleep."
        )

    def handlers(self) -> Handlers:
        return {
            events.Reloaded: self._reloaded,
            events.LoopLagged: lambda e: self.loop_lag.observe((), e.seconds),
        }

    def _reloaded(self, event: events.Reloaded) -> None:
        self.reloads.add(("accepted" if event.ok else "refused",))
        self.config_generation.set((), event.config_generation)
