"""gRPC for a forked child. gRPC's threads do not survive a fork, and its aio layer cannot be started again in
the child, where every call would hang. So the child's calls go through a fresh process of its own, over a
socket pair.

Frames, both ways: payload length (4 bytes), call (4), what (1), payload. Up: `o` open a call (JSON of its
method and time limit), `w` write a message, `f` finish writing, `c` cancel. Down: `m` a message, `e` the
call's end (JSON of its status). The first frame up, of call 0, is the dial; the first down, `r`, says that it
was taken. The relay ends when the socket does.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys
from dataclasses import asdict

import grpc

from agents.client.channel import Call, CallEnded, Dial, GrpcLink, TlsFiles
from agents.client.errors import Status

HEADER = struct.Struct("<II1s")
OPEN, WRITE, FINISH, CANCEL, MESSAGE, END, READY = (bytes([code]) for code in b"owfcmer")
Frame = tuple[int, bytes, bytes]


async def read_frame(reader: asyncio.StreamReader) -> Frame:
    """(call, what, payload). Raises asyncio.IncompleteReadError when the other end is gone."""
    size, call, what = HEADER.unpack(await reader.readexactly(HEADER.size))
    return call, what, await reader.readexactly(size)


def write_frame(writer: asyncio.StreamWriter, call: int, what: bytes, payload: bytes = b"") -> None:
    writer.write(HEADER.pack(len(payload), call, what) + payload)


def dial_to_json(address: str, dial: Dial) -> bytes:
    fields = {**asdict(dial), "addresses": [address]}
    if dial.tls is not None:
        fields["tls"] = {key: value and str(value) for key, value in asdict(dial.tls).items()}
    return json.dumps(fields).encode()


def dial_from_json(data: bytes) -> Dial:
    fields = json.loads(data)
    tls = fields.pop("tls")
    addresses = tuple(fields.pop("addresses"))
    return Dial(addresses=addresses, tls=None if tls is None else TlsFiles(**tls), **fields)


def status_to_json(status: Status) -> bytes:
    return json.dumps([status.code.name, status.message, status.reason, status.retry_after_ms]).encode()


def status_from_json(data: bytes) -> Status:
    code, message, reason, retry_after_ms = json.loads(data)
    return Status(grpc.StatusCode[code], message, reason, retry_after_ms)


class Relay:
    """The far end: makes the calls that the frames ask for."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._calls: dict[int, Call] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        _, _, dial = await read_frame(self._reader)
        settings = dial_from_json(dial)
        link = GrpcLink(settings.addresses[0], settings)
        write_frame(self._writer, 0, READY)
        try:
            while True:
                await self._take(link, *await read_frame(self._reader))
        except (asyncio.IncompleteReadError, ConnectionError):
            await link.close()

    async def _take(self, link: GrpcLink, number: int, what: bytes, payload: bytes) -> None:
        if what == OPEN:
            self._open(link, number, **json.loads(payload))
            return
        call = self._calls.get(number)
        if call is None:
            return  # it ended meanwhile, and the other end has been told
        if what == WRITE:
            await call.write(payload)
        elif what == FINISH:
            await call.finish()
        else:
            call.cancel()

    def _open(self, link: GrpcLink, number: int, method: str, timeout_s: float | None) -> None:
        call = self._calls[number] = link.call(method, timeout_s)
        task = asyncio.get_running_loop().create_task(self._read(number, call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, number: int, call: Call) -> None:
        try:
            while True:
                write_frame(self._writer, number, MESSAGE, await call.read())
                await self._writer.drain()
        except CallEnded as ended:
            write_frame(self._writer, number, END, status_to_json(ended.status))
        finally:
            del self._calls[number]


def main() -> None:
    asyncio.run(_serve())


async def _serve() -> None:
    reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=sys.stdin.fileno()))
    await Relay(reader, writer).serve()
