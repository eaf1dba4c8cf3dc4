"""The gRPC server as a process runs it: one port, limits on every size, pings as the clients send them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import grpc

from broker.wire.admin_http import AdminServer

MAX_HEADER_BYTES = 16_384
OVERHEAD_BYTES = 65_536  # gRPC's limit is a little above ours, so that ours can say what was too large


class PortTaken(Exception):
    """The address cannot be listened on."""


def make_server(
    interceptors: Sequence[grpc.aio.ServerInterceptor], max_message_bytes: int, keepalive_ms: int
) -> grpc.aio.Server:
    options: list[tuple[str, Any]] = [
        ("grpc.so_reuseport", 0),  # a second broker on the port must fail loudly
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", max_message_bytes + OVERHEAD_BYTES),
        ("grpc.max_metadata_size", MAX_HEADER_BYTES),
        ("grpc.keepalive_time_ms", keepalive_ms),
        ("grpc.keepalive_timeout_ms", keepalive_ms),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", keepalive_ms // 2),
        ("grpc.http2.max_ping_strikes", 0),
    ]
    return grpc.aio.server(interceptors=interceptors, options=options)


def listen(server: grpc.aio.Server, address: str) -> int:
    """Returns the port. Raises :class:`PortTaken` naming the address."""
    try:
        port = server.add_insecure_port(address)
    except RuntimeError:
        port = 0
    if not port:
        raise PortTaken(f"{address} cannot be listened on: the port is taken, or the address is not ours")
    return port


async def listen_for_pages(pages: AdminServer, address: str) -> int:
    """As :func:`listen`, for the admin port."""
    try:
        return await pages.start(address)
    except OSError:
        raise PortTaken(
            f"{address} cannot be listened on: the port is taken, or the address is not ours"
        ) from None
