"""Every kind of source the broker can make, by its name in the configuration. A new kind is a line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from broker.config import ProviderSettings
from broker.providers.making import Kind
from broker.providers.policy import PolicySettings, make_policy
from broker.providers.remote import make_remote
from broker.providers.remote_channel import RemoteSettings
from broker.providers.rules import RulesSettings, make_rules
from broker.providers.simulated import SimulatedSettings, make_simulated

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "policy": Kind(PolicySettings, make_policy),
        "remote": Kind(RemoteSettings, make_remote),
        "rules": Kind(RulesSettings, make_rules),
        "simulated": Kind(SimulatedSettings, make_simulated),
    }
)

PROVIDER_SETTINGS: Mapping[str, type[ProviderSettings]] = MappingProxyType(
    {name: kind.settings for name, kind in KINDS.items()}
)
"""Which model reads which ``[[providers]]`` table; handed to :func:`broker.config.load`."""
