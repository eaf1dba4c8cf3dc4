"""The broker's configuration: TOML in, one frozen :class:`Config` out, or every problem at once."""

from broker.config.model import Config, TaskSettings
from broker.config.problems import ConfigError, Problem
from broker.config.providers import PriceSettings, ProviderSettings
from broker.config.read import load, parse
from broker.config.routes import RouteSettings
from broker.config.secrets import MissingSecret, Secret
from broker.config.strict import (
    Fraction,
    InputFile,
    InputFolder,
    Many,
    Milliseconds,
    Name,
    PositiveInt,
    PositiveMilliseconds,
    Strict,
    Usd,
)

__all__ = [
    "Config",
    "ConfigError",
    "Fraction",
    "InputFile",
    "InputFolder",
    "Many",
    "Milliseconds",
    "MissingSecret",
    "Name",
    "PositiveInt",
    "PositiveMilliseconds",
    "PriceSettings",
    "Problem",
    "ProviderSettings",
    "RouteSettings",
    "Secret",
    "Strict",
    "TaskSettings",
    "Usd",
    "load",
    "parse",
]
