"""COMPOSITION ROOT: the only file that names concrete classes, in the order in which a request meets them."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

from grpc_health.v1 import _async as health_aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from broker.asks.admission import Admission
from broker.asks.identity import IdentityTable
from broker.asks.reports import Reports
from broker.asks.results import Results
from broker.asks.shared_answers import SharedAnswers, SharedKeys
from broker.auth import Authenticator
from broker.cache.memory import MemoryCache
from broker.calling.plan import PlanFollower
from broker.calling.reserve import ExtraAttempts
from broker.clock import Clock, SystemClock
from broker.config import Config, load
from broker.config.model import DEFAULT_TENANT
from broker.deadline import ClockRules, Deadlines
from broker.errors import BrokerError
from broker.events import AskEnded, AskReceived, Events, Reloaded
from broker.leases.leasing import Leasing
from broker.ledger import Ledger
from broker.metrics.metrics import Metrics
from broker.providers.interface import Provider
from broker.providers.making import Kind
from broker.providers.registry import KINDS
from broker.routing.interface import Candidate
from broker.routing.registry import ROUTE_SETTINGS
from broker.routing.stats import Stats
from broker.running.draining import drain
from broker.running.log import EventLog, Logger, make_logger
from broker.running.loop_lag import watch_loop_lag
from broker.running.reloading import Reloader
from broker.service import Service, ServiceRules
from broker.sessions.provider_updates import ProviderTable
from broker.sessions.table import SessionTable, TableRules
from broker.setup.assembly import Assembled, Assembly
from broker.setup.catalogue import Source
from broker.setup.catalogue_making import make_catalogue
from broker.setup.layers import Layers
from broker.singleflight import Flights
from broker.timers.alarms import Alarms
from broker.wire.admin import AdminServicer
from broker.wire.admin_http import AdminPages, AdminServer
from broker.wire.auth_interceptor import AuthInterceptor
from broker.wire.guidance import GuidanceServicer
from broker.wire.server import listen, listen_for_pages, make_server
from broker.wire.session_stream import SessionStream
from broker.wire.status import abort
from broker.wire.unary import UnaryCalls
from protos.guidance.v1 import admin_pb2_grpc
from protos.types import AskOptions, ProviderState

LEDGER_PERIOD_S = 1.0
CLOSE_SLACK_S = 1.0
MAX_REMEMBERED_ROWS = 262_144
SERVICES = ("guidance.v1.GuidanceService", "guidance.v1.AdminService", health.SERVICE_NAME)


class Broker:
    """One broker in one process: made, then :meth:`start`, then :meth:`stop`."""

    def __init__(
        self,
        path: Path,
        config: Config,
        environ: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
        logger: Logger | None = None,
        kinds: Mapping[str, Kind] = KINDS,
    ) -> None:
        """Raises SetupError where a source cannot be made, LedgerInUse where another has the ledger."""
        self.config = config
        self._path = path
        self._environ = environ
        self._kinds = kinds
        self.clock = clock or SystemClock()
        self.log = logger or make_logger(config.log.level)
        self._running: set[asyncio.Task[Any]] = set()
        self._compose_listeners()
        self._compose_calling()
        self._compose_story()
        self._compose_fronts()

    # ------------------------------------------------------------ composition, in the order of a request

    def _compose_listeners(self) -> None:
        self.metrics = Metrics()
        self.admission = Admission(self.config.limits.max_asks_in_flight)
        self.events = Events([self.metrics, self.admission, EventLog(self.log)])
        self.emit = self.events.emit
        self.authenticator = Authenticator(self.config, self._environ)

    def _compose_calling(self) -> None:
        config, clock, emit = self.config, self.clock, self.emit
        self.alarms = Alarms(clock)
        self.stats = Stats(clock)
        self.ledger = Ledger(clock, emit, config.ledger.path, config.budgets_usd)
        self.cache = MemoryCache(clock, config.cache.max_bytes, config.cache.ttl_ms / 1000)
        self.layers = Layers(clock, self.alarms, self.ledger, emit)
        extra = ExtraAttempts(config.limits.extra_attempts_share)
        most = config.limits.max_attempts
        self.calls = PlanFollower(self.layers.paid, self.stats, clock, emit, most, extra)
        self.lease_calls = PlanFollower(self.layers.unpaid, self.stats, clock, emit, max_attempts=1)

    def _compose_story(self) -> None:
        config, clock, emit = self.config, self.clock, self.emit
        self.assembly = Assembly(self._kinds, clock, self._environ)
        self.assembled = self.assembly.assemble(config, generation=1)
        self.layers.wrap(self.assembled)
        self.identity = IdentityTable(config.server.identity_ttl_ms / 1000, MAX_REMEMBERED_ROWS)
        self.flights = Flights(clock, self.alarms, config.server.orphan_linger_ms / 1000)
        self.leasing = Leasing(
            clock, self.alarms, emit, self.ledger, self.identity, self.lease_calls, self._step_deadlines
        )
        self.service = Service(
            rules=_service_rules(config),
            catalogue=make_catalogue(self.assembled, 1, self.observe),
            clock=clock,
            alarms=self.alarms,
            accounts=self.ledger,
            identity=self.identity,
            flights=self.flights,
            shared=SharedAnswers(self.cache, SharedKeys(), emit),
            caller=self.calls,
            leasing=self.leasing,
            results=Results(clock, emit),
        )

    def _compose_fronts(self) -> None:
        config, clock, emit, log_fault = self.config, self.clock, self.emit, self.log_fault
        reports = Reports(emit)
        broker_id = secrets.token_hex(8)
        self.sessions = SessionTable(
            _table_rules(config), self.service, self.identity, reports, self.admission, clock, emit, broker_id
        )
        self.providers = ProviderTable(self.service, self.sessions, self.observe, emit)
        self.sessions.tell = self.providers.tell
        self.reloader = Reloader(
            self._read,
            self.assembly,
            self.assembled,
            1,
            self.install,
            self._retire,
            emit,
        )
        unary = UnaryCalls(self.service, self.identity, self.admission, clock, emit)
        stream = SessionStream(self.sessions, log_fault)
        guidance = GuidanceServicer(
            unary, stream, self.service, self.identity, reports, self.providers, log_fault
        )
        admin = AdminServicer(
            self.service,
            self.sessions,
            self.reloader,
            self.cache,
            self.ledger,
            self.observe,
            self.providers,
            log_fault,
        )
        interceptor = AuthInterceptor(self.authenticator, abort, self._refused)
        self.server = make_server([interceptor], config.server.max_message_bytes, config.server.keepalive_ms)
        self.server.add_generic_rpc_handlers((guidance.handlers(),))
        admin_pb2_grpc.add_AdminServiceServicer_to_server(admin, self.server)
        self.health = health_aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self.health, self.server)
        reflection.enable_server_reflection((*SERVICES, reflection.SERVICE_NAME), self.server)
        pages = AdminPages(self.authenticator, self.metrics.exposition, self.ready)
        self.admin_http = AdminServer(pages)

    # ------------------------------------------------------------ life

    async def start(self) -> int:
        """Start sources, then listen; returns the gRPC port. Raises PortTaken or SetupError."""
        self._know()
        await asyncio.gather(*(provider.start() for provider in self.assembled.providers.values()))
        port = listen(self.server, self.config.server.address)
        self.admin_port = await listen_for_pages(self.admin_http, self.config.server.admin_address)
        self.emit(Reloaded(True, 1))
        self.providers.push_changes()
        await self._tell_health()
        await self.server.start()
        self._keep(watch_loop_lag(self.clock, self.emit))
        self._keep(self._push_for_ever())
        self._keep(self._maintain_ledger())
        return port

    async def stop(self) -> None:
        """Drain within the grace, then close everything, once."""
        self.admission.draining = True
        await self._tell_health()
        await drain(self.server, self.sessions, self.admission, self.config.server.grace_ms / 1000)
        await self.flights.close()
        await self.leasing.close()
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        providers = self.reloader.current.providers.values()
        await asyncio.gather(*(provider.close() for provider in providers), return_exceptions=True)
        await self.alarms.close()
        await self.admin_http.close()
        self.ledger.close()

    def ready(self) -> bool:
        """Whether a source can answer now; none is called to find out."""
        sources = self.service.catalogue.sources.values()
        return not self.admission.draining and any(s.state is ProviderState.READY for s in sources)

    def observe(self, source: Source) -> Candidate:
        return self.stats.candidate(source.info, source.state)

    def log_fault(self, error: BaseException) -> None:
        """Our own fault: its place is logged, its text is not."""
        self.log.error("internal_fault", exc_info=error)

    # ------------------------------------------------------------ reload

    def install(self, assembled: Assembled, generation: int) -> None:
        """Swap to another configuration between two messages."""
        before = self.service.catalogue
        self.config = assembled.config
        self.layers.wrap(assembled)
        self.service.catalogue = make_catalogue(assembled, generation, self.observe, before)
        self.service.rules = _service_rules(self.config)
        self.authenticator.reload(self.config, self._environ)
        self.ledger.set_budgets(self.config.budgets_usd)
        self._know()
        for name in before.sources.keys() - assembled.providers.keys():
            self.stats.forget(name)
        self.sessions.reloaded(self.authenticator.holds)
        self.providers.push_changes()

    def _read(self) -> Config:
        settings = {name: kind.settings for name, kind in self._kinds.items()}
        return load(self._path, settings, ROUTE_SETTINGS, self._environ)

    def _retire(self, providers: list[Provider], config: Config) -> None:
        """Close sources that are out of use once the last call that may still use them is over."""
        longest_s = max(settings.final_cap_ms for settings in config.providers) / 1000
        for provider in providers:
            self._keep(self._close_later(provider, self.clock.now() + longest_s + CLOSE_SLACK_S))

    async def _close_later(self, provider: Provider, when: float) -> None:
        try:
            await self.clock.sleep_until(when)
        finally:
            await provider.close()

    # ------------------------------------------------------------ small duties

    def _know(self) -> None:
        config = self.config
        self.metrics.know(
            [DEFAULT_TENANT, *config.tenants], config.tasks, [settings.id for settings in config.providers]
        )
        for name, why in self.reloader.current.disabled.items():
            self.log.warning("provider_disabled", provider=name, why=why)

    def _refused(self, method: str, error: BrokerError) -> None:
        """A refused call of GetGuidance was an ask all the same."""
        if method.endswith("/GetGuidance"):
            self.emit(AskReceived("", ""))
            self.emit(AskEnded("", "", error.outcome, "", 0.0))

    def _step_deadlines(self, received_at: float, options: AskOptions, task: str) -> Deadlines:
        return self.service.step_deadlines(received_at, options, task)

    def _keep(self, duty: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(duty)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _push_for_ever(self) -> None:
        period_s = self.config.server.update_period_ms / 1000
        while True:
            await self.clock.sleep_until(self.clock.now() + period_s)
            self.providers.push_changes()
            await self._tell_health()

    async def _maintain_ledger(self) -> None:
        while True:
            await self.clock.sleep_until(self.clock.now() + LEDGER_PERIOD_S)
            await self.ledger.maintain()

    async def _tell_health(self) -> None:
        serving = health_pb2.HealthCheckResponse.SERVING
        status = serving if self.ready() else health_pb2.HealthCheckResponse.NOT_SERVING
        for service in ("", *SERVICES[:2]):
            await self.health.set(service, status)


def _service_rules(config: Config) -> ServiceRules:
    clocks = config.clocks
    return ServiceRules(
        ClockRules(clocks.first_answer_default_ms, clocks.first_answer_cap_ms, clocks.unary_default_ms),
        config.server.max_hold_steps,
    )


def _table_rules(config: Config) -> TableRules:
    server = config.server
    return TableRules(
        max_sessions=server.max_sessions,
        max_lanes=server.max_lanes,
        max_rows=server.max_rows,
        max_message_bytes=server.max_message_bytes,
        max_hold_steps=server.max_hold_steps,
        max_queued_updates=server.max_queued_updates,
        credits=server.credits,
        keepalive_ms=server.keepalive_ms,
    )
