"""A call to a running broker, and what to say when it fails."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import grpc

R = TypeVar("R")

DEFAULT_ADDRESS = "127.0.0.1:50051"
TOKEN_VARIABLE = "GUIDANCE_TOKEN"
TIMEOUT_S = 10.0

Metadata = tuple[tuple[str, str], ...]


def add_connection_arguments(parser: ArgumentParser, address: str | None = DEFAULT_ADDRESS) -> None:
    said = f" (default {address})" if address else ""
    parser.add_argument("--address", default=address, help=f"where the broker listens{said}")
    parser.add_argument(
        "--token-env",
        metavar="NAME",
        default=TOKEN_VARIABLE,
        help=f"environment variable that holds a bearer token (default {TOKEN_VARIABLE})",
    )


@contextmanager
def connected(args: Namespace) -> Iterator[tuple[grpc.Channel, Metadata]]:
    """A channel to the broker, and the metadata that says who calls."""
    token = os.environ.get(args.token_env, "").strip()
    with grpc.insecure_channel(args.address) as channel:
        yield channel, (("authorization", f"Bearer {token}"),) if token else ()


def told(what: str, args: Namespace, call: Callable[[], R]) -> R | None:
    """The call's result; None when it failed, and then the reason is on stderr."""
    try:
        return call()
    except grpc.RpcError as error:
        print(f"{what} at {args.address}: {_reason(error, args)}", file=sys.stderr)
        return None


def _reason(error: grpc.RpcError, args: Namespace) -> str:
    if not isinstance(error, grpc.Call):
        return "the call failed"
    code = error.code()
    if code is grpc.StatusCode.UNAVAILABLE:
        return "no broker answers there"
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"no answer within {TIMEOUT_S:g} s"
    if code is grpc.StatusCode.UNAUTHENTICATED:
        return f"{error.details()}; give it in the variable {args.token_env} (see --token-env)"
    return f"{code.name}: {error.details()}"
