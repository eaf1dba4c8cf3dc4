"""Every table and key of the configuration file, with its default and its range."""

from __future__ import annotations

from graphlib import TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo

from broker.config.addresses import Address, is_loopback
from broker.config.providers import ProviderSettings
from broker.config.routes import RouteSettings
from broker.config.secrets import Secret
from broker.config.strict import (
    Fraction,
    InputFolder,
    Many,
    Milliseconds,
    Name,
    PositiveInt,
    PositiveMilliseconds,
    Strict,
    Usd,
)

IN_MEMORY = ":memory:"
DEFAULT_TENANT = "default"


class ServerSettings(Strict):
    address: Address = "127.0.0.1:50051"
    admin_address: Address = "127.0.0.1:9464"
    max_rows: PositiveInt = 1_024  # of one message
    max_message_bytes: PositiveInt = 4_194_304
    max_hold_steps: PositiveInt = 1_000
    credits: PositiveInt = 256  # asks a session may have open
    max_sessions: PositiveInt = 256
    max_lanes: PositiveInt = 256  # of one session
    max_queued_updates: PositiveInt = 64  # of one session; the oldest goes first
    update_period_ms: PositiveMilliseconds = 250  # between two provider updates to a session
    grace_ms: Milliseconds = 3_000
    keepalive_ms: PositiveMilliseconds = 20_000
    orphan_linger_ms: Milliseconds = 300
    identity_ttl_ms: PositiveMilliseconds = 60_000


class TokenSettings(Strict):
    name: Name
    token: Secret
    tenant: Name
    roles: Annotated[Many[Literal["agent", "admin", "metrics"]], Field(min_length=1)]


class AuthSettings(Strict):
    enabled: bool | None = None  # not said: on, unless the addresses are loopback and there is no token
    tokens: Many[TokenSettings] = ()


def _ledger_path(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str) or value == IN_MEMORY:
        return value
    return str((Path((info.context or {}).get("folder", Path.cwd())) / value).resolve())


class LedgerSettings(Strict):
    path: Annotated[str, Field(min_length=1), BeforeValidator(_ledger_path)] = IN_MEMORY


class TenantSettings(Strict):
    budget_usd: Usd | None = None  # not said: no limit


class CacheSettings(Strict):
    max_bytes: PositiveInt = 67_108_864
    ttl_ms: PositiveMilliseconds = 60_000


class ClockSettings(Strict):
    """The final clock's cap stands with each source as ``final_cap_ms``."""

    first_answer_default_ms: PositiveMilliseconds = 5_000
    first_answer_cap_ms: PositiveMilliseconds = 5_000
    unary_default_ms: PositiveMilliseconds = 5_000


class LimitSettings(Strict):
    max_attempts: PositiveInt = 3  # of one ask, fallbacks included
    extra_attempts_share: Fraction = 0.1  # attempts after the first, of all asks
    max_asks_in_flight: PositiveInt = 16_384


class LogSettings(Strict):
    level: Literal["debug", "info", "warning", "error"] = "info"


class TaskSettings(Strict):
    folder: InputFolder | None = None  # as exported: schemas, hard bounds, safe action
    route: RouteSettings


class Config(Strict):
    """The whole file. Relative paths have been resolved against its folder."""

    server: ServerSettings = ServerSettings()
    auth: AuthSettings = AuthSettings()
    ledger: LedgerSettings = LedgerSettings()
    tenants: dict[Name, TenantSettings] = Field(default_factory=dict)
    cache: CacheSettings = CacheSettings()
    clocks: ClockSettings = ClockSettings()
    limits: LimitSettings = LimitSettings()
    log: LogSettings = LogSettings()
    tasks: dict[str, TaskSettings] = Field(default_factory=dict)
    providers: Annotated[Many[ProviderSettings], Field(min_length=1)]

    @property
    def loopback_only(self) -> bool:
        return is_loopback(self.server.address) and is_loopback(self.server.admin_address)

    @property
    def auth_enabled(self) -> bool:
        if self.auth.enabled is None:
            return bool(self.auth.tokens) or not self.loopback_only
        return self.auth.enabled

    @property
    def budgets_usd(self) -> dict[str, float]:
        """Tenants that have a budget."""
        return {
            name: tenant.budget_usd for name, tenant in self.tenants.items() if tenant.budget_usd is not None
        }

    def providers_in_order(self) -> list[ProviderSettings]:
        """Each after those it is built on. Raises ``graphlib.CycleError``, which loading has ruled out."""
        by_id = {settings.id: settings for settings in self.providers}
        order = TopologicalSorter({settings.id: settings.references() for settings in self.providers})
        return [by_id[name] for name in order.static_order() if name in by_id]

    def provider(self, provider_id: str) -> ProviderSettings:
        """Raises KeyError for an id that is not configured."""
        for settings in self.providers:
            if settings.id == provider_id:
                return settings
        raise KeyError(provider_id)
