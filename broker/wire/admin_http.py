"""The admin port: ``/livez``, ``/readyz`` and ``/metrics`` over plain HTTP/1.1, in the broker's own loop.

``/livez`` is answered whenever the loop turns; ``/readyz`` says whether a source can answer, without calling
one; ``/metrics`` needs the role `metrics` where auth is on. Every connection carries one request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from prometheus_client import CONTENT_TYPE_LATEST

from broker.auth import Authenticator, Role, require
from broker.config.addresses import split_address
from broker.errors import PermissionRefused, Unauthenticated

MAX_HEAD_BYTES = 8_192
MAX_CONNECTIONS = 64
READ_TIMEOUT_S = 5.0
WRITE_TIMEOUT_S = 10.0
_PLAIN = "text/plain; charset=utf-8"
_MAY_READ_METRICS = frozenset({Role.METRICS, Role.ADMIN})


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    authorization: str | None = None


@dataclass(frozen=True, slots=True)
class Response:
    status: HTTPStatus
    body: bytes = b""
    content_type: str = _PLAIN
    headers: dict[str, str] = field(default_factory=dict)

    def encode(self, head_only: bool = False) -> bytes:
        headers = {
            "Content-Type": self.content_type,
            "Content-Length": str(len(self.body)),
            "Cache-Control": "no-store",
            "Connection": "close",
            **self.headers,
        }
        lines = [f"HTTP/1.1 {self.status.value} {self.status.phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join(lines).encode("ascii") + b"\r\n\r\n"
        return head if head_only else head + self.body


def plain(status: HTTPStatus, text: str = "", **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, f"{text or status.phrase}\n".encode(), headers=named)


def parse_head(head: bytes) -> Request | None:
    """A request's line and headers, up to the empty line; None if they are no HTTP/1 request."""
    request_line, *headers = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    parts = request_line.split(" ")
    if len(parts) != 3 or parts[2] not in ("HTTP/1.0", "HTTP/1.1") or not parts[1].startswith("/"):
        return None
    values: dict[str, str] = {}
    for header in headers:
        name, colon, value = header.partition(":")
        name = name.lower()
        if not colon or name != name.strip() or (name == "authorization" and name in values):
            return None
        values[name] = value.strip()
    return Request(parts[0], parts[1].partition("?")[0], values.get("authorization"))


class AdminPages:
    """Which page says what. Pure: no I/O."""

    def __init__(
        self, authenticator: Authenticator, exposition: Callable[[], bytes], ready: Callable[[], bool]
    ) -> None:
        self._authenticator = authenticator
        self._exposition = exposition
        self._ready = ready

    def respond(self, request: Request) -> Response:
        page = {"/livez": self._livez, "/readyz": self._readyz, "/metrics": self._metrics}.get(request.path)
        if page is None:
            return plain(HTTPStatus.NOT_FOUND, "pages: /livez /readyz /metrics")
        if request.method not in ("GET", "HEAD"):
            return plain(HTTPStatus.METHOD_NOT_ALLOWED, Allow="GET, HEAD")
        return page(request)

    def _livez(self, _: Request) -> Response:
        return plain(HTTPStatus.OK, "ok")

    def _readyz(self, _: Request) -> Response:
        if self._ready():
            return plain(HTTPStatus.OK, "ok")
        return plain(HTTPStatus.SERVICE_UNAVAILABLE, "no source can answer now")

    def _metrics(self, request: Request) -> Response:
        try:
            require(self._authenticator.identify(request.authorization), _MAY_READ_METRICS)
        except Unauthenticated as refused:
            return plain(HTTPStatus.UNAUTHORIZED, str(refused), WWW_Authenticate="Bearer")
        except PermissionRefused as refused:
            return plain(HTTPStatus.FORBIDDEN, str(refused))
        return Response(HTTPStatus.OK, self._exposition(), CONTENT_TYPE_LATEST)


class AdminServer:
    """Serves the pages until closed."""

    def __init__(
        self,
        pages: AdminPages,
        read_timeout_s: float = READ_TIMEOUT_S,
        write_timeout_s: float = WRITE_TIMEOUT_S,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self._pages = pages
        self._read_timeout_s = read_timeout_s
        self._write_timeout_s = write_timeout_s
        self._max_connections = max_connections
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self, address: str) -> int:
        """Listen; returns the port. Raises OSError when it is taken."""
        host, port = split_address(address)
        self._server = await asyncio.start_server(self._connected, host, port, limit=MAX_HEAD_BYTES)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def close(self) -> None:
        """Stop listening and drop what is connected: an answer takes one turn of the loop, not a grace."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._connection(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._exchange(reader, writer)
        except (ConnectionError, TimeoutError):
            writer.transport.abort()
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request: Request | None = None
        if len(self._connections) > self._max_connections:
            response = plain(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections", Retry_After="1")
        else:
            request, response = await self._answer(reader)
        writer.write(response.encode(head_only=request is not None and request.method == "HEAD"))
        async with asyncio.timeout(self._write_timeout_s):
            await writer.drain()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[Request | None, Response]:
        try:
            async with asyncio.timeout(self._read_timeout_s):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            limit = f"a request's head may have {MAX_HEAD_BYTES} bytes"
            return None, plain(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, limit)
        except TimeoutError:
            return None, plain(HTTPStatus.REQUEST_TIMEOUT)
        except asyncio.IncompleteReadError:
            return None, plain(HTTPStatus.BAD_REQUEST)
        request = parse_head(head)
        if request is None:
            return None, plain(HTTPStatus.BAD_REQUEST)
        return request, self._pages.respond(request)
