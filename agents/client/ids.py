"""Ask ids: a random part drawn at process start, then a counter, so that no two processes of an agent
collide.
"""

from __future__ import annotations

import os

COUNTER_BITS = 32
RANDOM_BITS = 31  # 63 bits in all: an id fits a signed 64-bit column


class AskIds:
    """Never 0, never twice. A forked child draws its own random part."""

    def __init__(self) -> None:
        self._pid = 0
        self._next = 0
        self._end = 0

    def take(self, count: int) -> list[int]:
        """The next `count` ids, rising by one."""
        if self._next + count > self._end or self._pid != os.getpid():
            self._draw()
        first = self._next
        self._next += count
        return list(range(first, first + count))

    def _draw(self) -> None:
        random = int.from_bytes(os.urandom(4), "little") >> (32 - RANDOM_BITS)
        self._next = (random << COUNTER_BITS) + 1
        self._end = (random + 1) << COUNTER_BITS
        self._pid = os.getpid()
