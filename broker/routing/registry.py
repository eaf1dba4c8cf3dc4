"""Every routing strategy, by its name in the configuration. A new one is a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from broker.config import RouteSettings
from broker.routing.cheapest import Cheapest, CheapestSettings
from broker.routing.fastest import Fastest, FastestSettings
from broker.routing.fixed import Fixed, FixedSettings
from broker.routing.interface import Strategy
from broker.routing.scored import Scored, ScoredSettings


@dataclass(frozen=True, slots=True)
class StrategyKind:
    """``make`` is called once a task, with the settings of its route."""

    settings: type[RouteSettings]
    make: Callable[[Any], Strategy]


STRATEGIES: Mapping[str, StrategyKind] = MappingProxyType(
    {
        "fixed": StrategyKind(FixedSettings, Fixed),
        "cheapest": StrategyKind(CheapestSettings, Cheapest),
        "fastest": StrategyKind(FastestSettings, Fastest),
        "scored": StrategyKind(ScoredSettings, Scored),
    }
)

ROUTE_SETTINGS: Mapping[str, type[RouteSettings]] = MappingProxyType(
    {name: kind.settings for name, kind in STRATEGIES.items()}
)
"""Which model reads which ``route`` table; handed to :func:`broker.config.load`."""
