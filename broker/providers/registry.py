"""Every kind of source the broker can make, by its name in the configuration. A new kind is a line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from broker.providers.making import Kind
from broker.providers.rules import RulesSettings, make_rules

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "rules": Kind(RulesSettings, make_rules, in_process=True),
    }
)
