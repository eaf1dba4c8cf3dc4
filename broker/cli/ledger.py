"""``guidance-broker ledger``: what was spent, from a running broker or from the file of a stopped one."""

from __future__ import annotations

import sqlite3
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path

from broker.cli.connection import TIMEOUT_S, add_connection_arguments, connected, told
from broker.cli.table import print_table, usd
from broker.config import Config, ConfigError, load
from broker.config.model import IN_MEMORY
from broker.ledger import LedgerInUse, Line, stored_lines
from broker.providers.registry import PROVIDER_SETTINGS
from broker.routing.registry import ROUTE_SETTINGS
from protos.guidance.v1 import admin_pb2 as pb
from protos.guidance.v1.admin_pb2_grpc import AdminServiceStub


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, help="read the ledger that this file names; no broker has it")
    parser.add_argument("--tenant", default="", help="only this tenant")
    add_connection_arguments(parser)


def run(args: Namespace) -> int:
    lines = _of_a_broker(args) if args.config is None else _of_a_file(args.config, args.tenant)
    if lines is None:
        return 1
    print_lines(lines)
    return 0


def print_lines(lines: Sequence[Line]) -> None:
    rows = [
        (
            line.tenant,
            line.provider_id,
            str(line.charges),
            usd(line.charged_usd),
            usd(line.reserved_usd),
            usd(line.saved_usd),
            "none" if line.budget_usd is None else usd(line.budget_usd),
        )
        for line in lines
    ]
    columns = ("tenant", "provider", "charges", "charged", "reserved", "saved", "tenant's budget")
    print_table("ledger, in USD", columns, rows)
    print(f"charged in all: {usd(sum(line.charged_usd for line in lines))} USD")


def _of_a_broker(args: Namespace) -> list[Line] | None:
    request = pb.LedgerRequest(tenant=args.tenant)
    with connected(args) as (channel, metadata):
        stub = AdminServiceStub(channel)
        response = told("ledger", args, lambda: stub.Ledger(request, timeout=TIMEOUT_S, metadata=metadata))
    return None if response is None else list(_lines(response.lines))


def _lines(messages: Iterable[pb.LedgerLine]) -> Iterable[Line]:
    for line in messages:
        yield Line(
            line.tenant,
            line.provider_id,
            charges=line.charges,
            charged_usd=line.charged_usd,
            reserved_usd=line.reserved_usd,
            saved_usd=line.saved_usd,
            budget_usd=line.budget_usd or None,
        )


def _of_a_file(path: Path, tenant: str) -> list[Line] | None:
    try:
        lines = _stored(load(path, PROVIDER_SETTINGS, ROUTE_SETTINGS), tenant)
    except (ConfigError, LedgerInUse, sqlite3.Error, ValueError) as error:
        hint = "; ask the broker instead: --address" if isinstance(error, LedgerInUse) else ""
        print(f"{error}{hint}", file=sys.stderr)
        return None
    return lines


def _stored(config: Config, tenant: str) -> list[Line]:
    if config.ledger.path == IN_MEMORY:
        raise ValueError("this configuration keeps its ledger in memory; ask the broker instead: --address")
    if not Path(config.ledger.path).exists():
        raise ValueError(f"{config.ledger.path}: nothing was ever booked there")
    return stored_lines(config.ledger.path, config.budgets_usd, tenant)
