"""What sources did and what it cost."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from broker import events
from broker.metrics.handlers import Handlers
from broker.metrics.names import Names
from broker.metrics.series import Counter, Gauge, Histogram
from protos.types import CacheStatus, ProviderState

_STATUSES = {status: status.name.lower() for status in CacheStatus}
_STATES = {state: state.name.lower() for state in ProviderState}

_SOURCE = ("provider",)
_BY_OUTCOME = ("provider", "outcome")
_MONEY = ("tenant", "provider")


class SourceMetrics:
    """Calls, leased steps and states of sources."""

    def __init__(self, registry: CollectorRegistry, names: Names) -> None:
        self._name = names.name
        self.attempts = Counter(
            registry, "guidance_attempts", "Calls to sources by how they ended.", _BY_OUTCOME
        )
        self.in_flight = Gauge(
            registry, "guidance_attempts_in_flight", "Calls to sources under way.", _SOURCE
        )
        self.rows = Counter(registry, "guidance_attempt_rows", "Rows of ended calls.", _SOURCE)
        self.seconds = Histogram(
            registry, "guidance_attempt_seconds", "How long calls to sources took.", _SOURCE
        )
        self.lease_steps = Counter(
            registry, "guidance_lease_steps", "Leased steps after the first, by outcome.", _BY_OUTCOME
        )
        self.lease_step_seconds = Histogram(
            registry, "guidance_lease_step_seconds", "From a leased step's receipt to its answer.", _SOURCE
        )
        self.state = Gauge(
            registry, "guidance_provider_state", "1 for the state a source is in.", ("provider", "state")
        )

    def handlers(self) -> Handlers:
        return {
            events.AttemptStarted: lambda e: self.in_flight.add((self._name(e.provider_id),)),
            events.AttemptEnded: self._attempt_ended,
            events.LeaseStepServed: self._lease_step_served,
            events.ProviderStateChanged: self._state_changed,
        }

    def _attempt_ended(self, event: events.AttemptEnded) -> None:
        provider = (self._name(event.provider_id),)
        self.in_flight.add(provider, -1)
        self.attempts.add((*provider, event.outcome.value))
        self.rows.add(provider, event.rows)
        self.seconds.observe(provider, event.seconds)

    def _lease_step_served(self, event: events.LeaseStepServed) -> None:
        provider = (self._name(event.provider_id),)
        self.lease_steps.add((*provider, event.outcome.value), event.rows)
        self.lease_step_seconds.observe(provider, event.seconds, event.rows)

    def _state_changed(self, event: events.ProviderStateChanged) -> None:
        provider = self._name(event.provider_id)
        for state, name in _STATES.items():
            self.state.set((provider, name), float(state is event.state))


class MoneyMetrics:
    """What was charged and what was saved."""

    def __init__(self, registry: CollectorRegistry, names: Names) -> None:
        self._names = names
        self.charged = Counter(registry, "guidance_charged_usd", "What was charged, in USD.", _MONEY)
        self.saved = Counter(
            registry, "guidance_saved_usd", "What hits and shared calls would have cost, in USD.", _MONEY
        )
        self.usage_doubted = Counter(
            registry, "guidance_usage_doubted", "Calls settled at their estimate for want of usage.", _SOURCE
        )
        self.cache_lookups = Counter(
            registry, "guidance_cache_lookups", "Rows looked up, by result.", ("provider", "status")
        )
        self.ledger_failures = Counter(
            registry, "guidance_ledger_failures", "Times the ledger stopped being writable."
        )

    def handlers(self) -> Handlers:
        name = self._names.name
        return {
            events.Charged: lambda e: self.charged.add((name(e.tenant), name(e.provider_id)), e.usd),
            events.Saved: lambda e: self.saved.add((name(e.tenant), name(e.provider_id)), e.usd),
            events.UsageDoubted: lambda e: self.usage_doubted.add((name(e.provider_id),)),
            events.CacheLookedUp: lambda e: self.cache_lookups.add(
                (name(e.provider_id), _STATUSES[e.status]), e.rows
            ),
            events.LedgerFailed: lambda e: self.ledger_failures.add(),
        }
