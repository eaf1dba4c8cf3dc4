"""What waits to be sent down one session. Answers are never dropped; updates give way to newer ones.

A message is put together from what is waiting when the stream can take one: the more a reader lags, the more
rows travel together. Parts are kept serialised: a protobuf message's fields may be written one by one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from protos.guidance.v1 import guidance_pb2 as pb

_ANSWERS_TAG = pb.SessionResponse.DESCRIPTOR.fields_by_name["answers"].number << 3 | 2
_FAILURES_TAG = pb.SessionResponse.DESCRIPTOR.fields_by_name["failures"].number << 3 | 2
_UPDATES_TAG = pb.SessionResponse.DESCRIPTOR.fields_by_name["provider_updates"].number << 3 | 2
_CONSTRAINTS_TAG = pb.SessionResponse.DESCRIPTOR.fields_by_name["constraints"].number << 3 | 2
_PUSHES_TAG = pb.SessionResponse.DESCRIPTOR.fields_by_name["pushes"].number << 3 | 2
_GAP_TAG = pb.SessionResponse.DESCRIPTOR.fields_by_name["gap"].number << 3 | 2
_CREDITS_TAG = pb.SessionResponse.DESCRIPTOR.fields_by_name["credits_returned"].number << 3


class Outbox:
    """``max_updates`` bounds what may be dropped; answers are bounded by credits and by the reader."""

    def __init__(self, max_updates: int, max_message_bytes: int, on_dropped: Callable[[int], None]) -> None:
        self._max_updates = max_updates
        self._max_bytes = max_message_bytes
        self._on_dropped = on_dropped
        self._must: deque[tuple[int, bytes]] = deque()  # answers, failures, stops, constraints
        self._may: dict[str, tuple[int, bytes]] = {}  # by what they are about: a newer one replaces an older
        self._dropped = 0
        self._credits = 0
        self._awaited: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self.bytes_waiting = 0
        self.closed = False

    def __len__(self) -> int:
        return len(self._must) + len(self._may)

    def answer(self, data: bytes) -> None:
        self._put(_ANSWERS_TAG, data)

    def failure(self, data: bytes) -> None:
        self._put(_FAILURES_TAG, data)

    def constraints(self, data: bytes) -> None:
        self._put(_CONSTRAINTS_TAG, data)

    def stop(self, data: bytes) -> None:
        self._put(_PUSHES_TAG, data)

    def credits(self, count: int) -> None:
        self._credits += count
        self._notify()

    def update(self, about: str, data: bytes) -> None:
        """A provider's live state; the newest about one provider is kept."""
        self._put_update(about, _UPDATES_TAG, data)

    def push(self, about: str, data: bytes) -> None:
        """Guidance pushed by an operator."""
        self._put_update(about, _PUSHES_TAG, data)

    def close(self) -> None:
        """Nothing more comes; what waits is still sent."""
        self.closed = True
        self._notify()
        _wake(self._room)

    def forget(self) -> None:
        """Nobody is going to read what waits."""
        self._must.clear()
        self._may.clear()
        self.bytes_waiting = 0

    async def ready(self) -> bool:
        """Wait until there is something to send. False: it is closed and empty."""
        while not (self._must or self._may or self._credits or self._dropped):
            if self.closed:
                return False
            self._awaited = asyncio.get_running_loop().create_future()
            await self._awaited
        return True

    async def drained(self, below: int) -> None:
        """Wait until less than ``below`` bytes of answers wait to be read."""
        while self.bytes_waiting >= below and not self.closed:
            self._room = asyncio.get_running_loop().create_future()
            await self._room

    def take(self) -> bytes:
        """One serialised SessionResponse of what waits, as much as a message may hold."""
        parts: list[bytes] = []
        size = 0
        if self._dropped:
            gap = pb.Gap(dropped_updates=self._dropped).SerializeToString()
            parts.append(_field(_GAP_TAG, gap))
            self._dropped = 0
        if self._credits:
            parts.append(bytes((_CREDITS_TAG,)) + _varint(self._credits))
            self._credits = 0
        while self._must and (not size or size + len(self._must[0][1]) + 16 < self._max_bytes):
            tag, data = self._must.popleft()
            parts.append(_field(tag, data))
            size += len(data) + 16
            self.bytes_waiting -= len(data)
        _wake(self._room)
        while self._may and (not size or size + 4096 < self._max_bytes):
            about = next(iter(self._may))
            tag, data = self._may.pop(about)
            parts.append(_field(tag, data))
            size += len(data) + 16
        return b"".join(parts)

    def _put(self, tag: int, data: bytes) -> None:
        self._must.append((tag, data))
        self.bytes_waiting += len(data)
        self._notify()

    def _put_update(self, about: str, tag: int, data: bytes) -> None:
        self._may.pop(about, None)
        self._may[about] = (tag, data)
        if len(self._may) > self._max_updates:
            del self._may[next(iter(self._may))]
            self._dropped += 1
            self._on_dropped(1)
        self._notify()

    def _notify(self) -> None:
        _wake(self._awaited)


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


def _field(tag: int, data: bytes) -> bytes:
    size = len(data)
    if size < 128:
        return bytes((tag, size)) + data
    return bytes((tag,)) + _varint(size) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
