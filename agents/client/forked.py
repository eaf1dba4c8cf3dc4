"""Where a link comes from: gRPC in the process that used it first, a relay in the children forked from it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from typing import Any

import grpc

from agents.client import relay
from agents.client.channel import Call, CallEnded, Dial, GrpcLink, Link
from agents.client.errors import Status

GONE = relay.status_to_json(Status(grpc.StatusCode.UNAVAILABLE, "the relay process is gone"))

START_S = 30.0
"""A relay takes as long to start as an interpreter and gRPC do, which on a busy machine is seconds."""

_grpc_pid: int | None = None
_inherited: list[Any] = []


def connect(address: str, dial: Dial) -> Link:
    """A link that works in this process. Raises OSError for TLS files that cannot be read."""
    global _grpc_pid
    if _grpc_pid is None:
        _grpc_pid = os.getpid()
    return GrpcLink(address, dial) if _grpc_pid == os.getpid() else RelayLink(address, dial)


def abandon(*objects: Any) -> None:
    """Keep what a child inherited: destroying it here would shut down what the parent still uses."""
    _inherited.extend(objects)


class RelayLink:
    """A link through a process of its own, which starts at the first call."""

    def __init__(self, address: str, dial: Dial) -> None:
        self.calls: dict[int, RelayCall] = {}
        self._dial = relay.dial_to_json(address, dial)
        self._next = 1
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[asyncio.StreamWriter] | None = None

    def call(self, method: str, timeout_s: float | None = None) -> Call:
        call = self.calls[self._next] = RelayCall(self, self._next, method, timeout_s)
        self._next += 1
        return call

    async def ready(self) -> None:
        """Raises CallEnded when the relay cannot be started in time."""
        try:
            async with asyncio.timeout(START_S):
                await self.writer()
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            raise CallEnded(relay.status_from_json(GONE)) from None

    async def close(self) -> None:
        for task in (self._starting, self._reading):
            if task is not None:
                task.cancel()
        if self._writer is not None:
            self._writer.close()
        if self._process is not None:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)

    async def writer(self) -> asyncio.StreamWriter:
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_task(self._start())
        return await asyncio.shield(self._starting)

    def send_now(self, number: int, what: bytes) -> None:
        """Without waiting; to a relay that never started there is nothing to say."""
        if self._writer is not None and not self._writer.is_closing():
            relay.write_frame(self._writer, number, what)

    async def _start(self) -> asyncio.StreamWriter:
        near, far = socket.socketpair()
        with far:
            self._process = _spawn(far)
        reader, self._writer = await asyncio.open_connection(sock=near)
        relay.write_frame(self._writer, 0, relay.OPEN, self._dial)
        await relay.read_frame(reader)
        self._reading = asyncio.get_running_loop().create_task(self._read(reader))
        return self._writer

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                number, what, payload = await relay.read_frame(reader)
                if number in self.calls:
                    self.calls[number].inbox.put_nowait((what, payload))
        except (asyncio.IncompleteReadError, ConnectionError):
            for call in self.calls.values():
                call.inbox.put_nowait((relay.END, GONE))


def _spawn(far: socket.socket) -> subprocess.Popen[bytes]:
    """Not by asyncio, whose child watcher is the parent's. Waits for nothing but the fork."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    command = [sys.executable, "-c", "from agents.client.relay import main; main()"]
    return subprocess.Popen(command, stdin=far.fileno(), env={**os.environ, "PYTHONPATH": path})


class RelayCall:
    """One call through the relay."""

    def __init__(self, link: RelayLink, number: int, method: str, timeout_s: float | None) -> None:
        self.inbox: asyncio.Queue[tuple[bytes, bytes]] = asyncio.Queue()
        self._link = link
        self._number = number
        self._opening: bytes | None = json.dumps({"method": method, "timeout_s": timeout_s}).encode()

    async def write(self, message: bytes) -> bool:
        return await self._send(relay.WRITE, message)

    async def read(self) -> bytes:
        what, payload = await self.inbox.get()
        if what == relay.END:
            raise CallEnded(relay.status_from_json(payload))
        return payload

    async def finish(self) -> None:
        await self._send(relay.FINISH, b"")

    def cancel(self) -> None:
        self._link.send_now(self._number, relay.CANCEL)
        self._link.calls.pop(self._number, None)

    async def _send(self, what: bytes, payload: bytes) -> bool:
        writer = await self._link.writer()
        opening, self._opening = self._opening, None
        if opening is not None:
            relay.write_frame(writer, self._number, relay.OPEN, opening)
        relay.write_frame(writer, self._number, what, payload)
        try:
            await writer.drain()
        except ConnectionError:
            return False
        return True
