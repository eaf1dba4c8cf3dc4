"""``guidance-broker reload``: read the configuration again, all or nothing."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from broker.cli.connection import TIMEOUT_S, add_connection_arguments, connected, told
from protos.guidance.v1 import admin_pb2 as pb
from protos.guidance.v1.admin_pb2_grpc import AdminServiceStub


def add_arguments(parser: ArgumentParser) -> None:
    add_connection_arguments(parser)


def run(args: Namespace) -> int:
    with connected(args) as (channel, metadata):
        stub = AdminServiceStub(channel)
        response = told(
            "reload", args, lambda: stub.Reload(pb.ReloadRequest(), timeout=TIMEOUT_S, metadata=metadata)
        )
    if response is None:
        return 1
    print(f"configuration {response.config_generation} is served")
    for what, ids in (
        ("added", response.added),
        ("removed", response.removed),
        ("changed", response.changed),
    ):
        print(f"{what}: {_listed(ids)}")
    return 0


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(ids) or "none"
