"""``guidance-broker check CONFIG``: everything that is wrong with a file, or what it says.

Beyond the file itself, every source is made and none is started: task folders and policy files are read, no
connection is opened and nothing is called.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from broker.cli.table import print_table, usd
from broker.clock import SystemClock
from broker.config import Config, ConfigError, ProviderSettings, load
from broker.providers.making import SetupError
from broker.providers.registry import KINDS, PROVIDER_SETTINGS
from broker.routing.registry import ROUTE_SETTINGS
from broker.setup.assembly import Assembly


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("config", type=Path, help="a TOML file")


def run(args: Namespace) -> int:
    try:
        config = load(args.config, PROVIDER_SETTINGS, ROUTE_SETTINGS)
    except ConfigError as error:
        print(error, file=sys.stderr)
        count = len(error.problems)
        print(f"{count} {'problem' if count == 1 else 'problems'}", file=sys.stderr)
        return 1
    try:
        Assembly(KINDS, SystemClock(), os.environ).assemble(config, generation=1)
    except SetupError as error:
        print(f"{args.config}: {error}", file=sys.stderr)
        return 1
    _describe(config, os.environ)
    print(f"{args.config} is valid")
    return 0


def _describe(config: Config, environ: Mapping[str, str]) -> None:
    print(f"serves {config.server.address}, admin pages {config.server.admin_address}")
    print(f"auth   {_auth(config)}")
    print(f"ledger {config.ledger.path}")
    rows = [_provider_row(settings, environ) for settings in config.providers]
    print_table("providers", ("id", "kind", "USD/ask", "USD/step", "tasks", "status"), rows)
    routes = [
        (task, settings.route.strategy, ", ".join(settings.route.providers), settings.route.fallback or "-")
        for task, settings in config.tasks.items()
    ]
    print_table("tasks", ("task", "strategy", "providers", "fallback"), routes)


def _auth(config: Config) -> str:
    if not config.auth_enabled:
        return "off: anyone on this machine may call"
    return "on: " + ", ".join(f"{t.name} ({t.tenant}: {' '.join(t.roles)})" for t in config.auth.tokens)


def _provider_row(settings: ProviderSettings, environ: Mapping[str, str]) -> tuple[str, ...]:
    missing = settings.missing_secret(environ)
    return (
        settings.id,
        settings.kind,
        usd(settings.price.usd_per_ask),
        usd(settings.price.usd_per_leased_step),
        ", ".join(settings.tasks) or "all",
        "enabled" if missing is None else f"disabled: {missing}",
    )
