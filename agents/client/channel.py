"""The wire: addresses, credentials, channel options, and calls in serialised messages."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import grpc
from grpc import aio

from agents.client.errors import Status, status_of, status_of_error
from protos.types import Limits

SERVICE = "guidance.v1.GuidanceService"
KEEPALIVE_MS = 20_000
"""Matches the broker's default. A welcome that names a longer one makes the client dial again with it."""
KEEPALIVE_TIMEOUT_MS = 10_000
MAX_MESSAGE_BYTES = 4_194_304
OVERHEAD_BYTES = 65_536
"""gRPC's limits are a little above the broker's, which can say what was too large."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files, read at every dial, so that renewed ones are picked up. `certificate` and `key` are for
    mutual TLS.
    """

    authority: Path | str | None = None  # None: the roots that gRPC ships
    certificate: Path | str | None = None
    key: Path | str | None = None
    server_name: str | None = None  # when the certificate names another host than the address

    def credentials(self) -> grpc.ChannelCredentials:
        """Raises OSError naming the file that cannot be read."""
        return grpc.ssl_channel_credentials(_read(self.authority), _read(self.key), _read(self.certificate))


@dataclass(frozen=True, slots=True)
class Dial:
    """How to reach a broker. With `tls` given there is no way back to plaintext."""

    addresses: tuple[str, ...]
    token: str | None = field(default=None, repr=False)
    tls: TlsFiles | None = None
    keepalive_ms: int = KEEPALIVE_MS
    max_message_bytes: int = MAX_MESSAGE_BYTES

    def fitting(self, limits: Limits) -> Dial:
        """Pings no more often than the broker allows, which would get us cut off, and messages as large."""
        return replace(
            self,
            keepalive_ms=max(self.keepalive_ms, limits.keepalive_ms),
            max_message_bytes=max(self.max_message_bytes, limits.max_message_bytes),
        )

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        return () if self.token is None else (("authorization", f"Bearer {self.token}"),)

    def options(self) -> list[tuple[str, Any]]:
        options: list[tuple[str, Any]] = [
            ("grpc.keepalive_time_ms", self.keepalive_ms),
            ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
            ("grpc.keepalive_permit_without_calls", 0),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.initial_reconnect_backoff_ms", 50),
            ("grpc.min_reconnect_backoff_ms", 50),
            ("grpc.max_reconnect_backoff_ms", 2_000),
            ("grpc.max_receive_message_length", self.max_message_bytes + OVERHEAD_BYTES),
            ("grpc.max_send_message_length", self.max_message_bytes + OVERHEAD_BYTES),
            # a channel of its own connection: a dead one never lends its back-off to the next
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if all(is_loopback(address) for address in self.addresses):
            options.append(("grpc.enable_http_proxy", 0))
        if self.tls is not None and self.tls.server_name is not None:
            options.append(("grpc.ssl_target_name_override", self.tls.server_name))
        return options


def parse_addresses(addresses: str | Sequence[str]) -> tuple[str, ...]:
    """``"host:port"`` or several. ValueError names what is wrong."""
    several = (addresses,) if isinstance(addresses, str) else tuple(addresses)
    if not several:
        raise ValueError("give at least one address of a broker, host:port")
    for address in several:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f"address {address!r} should be host:port")
    return several


def is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class CallEnded(Exception):
    """A call is over; `status` is the broker's own word, or the transport's where the broker has none."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


class Call(Protocol):
    """One call's two directions, in serialised messages. `read` is the only one to learn the true end."""

    async def write(self, message: bytes) -> bool:
        """False when the call is over; why is for `read` to say."""
        ...

    async def read(self) -> bytes:
        """Raises :class:`CallEnded`, also when it ended well."""
        ...

    async def finish(self) -> None:
        """Say that nothing more will be written."""
        ...

    def cancel(self) -> None: ...


class Link(Protocol):
    """A connection to one address."""

    async def ready(self) -> None:
        """Wait for what calls need on this side. Raises CallEnded."""
        ...

    def call(self, method: str, timeout_s: float | None = None) -> Call:
        """Open one of GuidanceService's methods."""
        ...

    async def close(self) -> None: ...


async def unary(link: Link, method: str, request: bytes, timeout_s: float) -> bytes:
    """Send one message, get one back. Raises CallEnded."""
    await link.ready()
    call = link.call(method, timeout_s)
    try:
        await call.write(request)
        await call.finish()
        return await call.read()
    finally:
        call.cancel()


_WRITE_ERRORS = (aio.AioRpcError, aio.InternalError, aio.UsageError, asyncio.InvalidStateError)


class GrpcCall:
    """Writes skip grpc.aio's own `write`, which on a call that the server has ended replaces the true status
    by INTERNAL for good. The reader, which always has a read pending, gets the true one.
    """

    def __init__(self, call: Any) -> None:
        self._call = call
        self._started = False

    async def write(self, message: bytes) -> bool:
        try:
            if not self._started:
                self._started = True
                await self._call.write(message)
            else:
                await self._call._cython_call.send_serialized_message(message)
        except _WRITE_ERRORS:
            return False
        return True

    async def read(self) -> bytes:
        try:
            message = await self._call.read()
            if message is not aio.EOF:
                assert isinstance(message, bytes)
                return message
            code, details = await self._call.code(), await self._call.details()
            trailing = await self._call.trailing_metadata()
        except aio.AioRpcError as error:
            raise CallEnded(status_of_error(error)) from None
        raise CallEnded(status_of(code, details, trailing))

    async def finish(self) -> None:
        try:
            await self._call.done_writing()
        except _WRITE_ERRORS:
            return

    def cancel(self) -> None:
        self._call.cancel()


class GrpcLink:
    """A channel to one address."""

    def __init__(self, address: str, dial: Dial) -> None:
        self._metadata = dial.metadata
        if dial.tls is None:
            self._channel = aio.insecure_channel(address, options=dial.options())
        else:
            self._channel = aio.secure_channel(address, dial.tls.credentials(), options=dial.options())

    async def ready(self) -> None:
        return

    def call(self, method: str, timeout_s: float | None = None) -> Call:
        multi: Any = self._channel.stream_stream(f"/{SERVICE}/{method}")
        return GrpcCall(multi(timeout=timeout_s, metadata=self._metadata))

    async def close(self) -> None:
        await self._channel.close()


def _read(path: Path | str | None) -> bytes | None:
    return None if path is None else Path(path).read_bytes()
