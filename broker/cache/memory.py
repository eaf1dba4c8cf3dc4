"""The exact cache in process: one TTL cache a tenant, bounded in bytes, least recently used out first."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from cachetools import TTLCache

from broker.cache.interface import CachedAnswer
from broker.clock import Clock

_OBJECT_BYTES = 64  # what a small Python object takes, about
_ENTRY_BYTES = 512  # the entry's own objects, its key and its two links


@dataclass(frozen=True, slots=True)
class _Entry:
    answer: CachedAnswer
    task: str
    size: int


class MemoryCache:
    """Implements :class:`broker.cache.interface.AnswerCache`.

    ``max_bytes`` is a tenant's, so that none can push out another's answers; tenants are a closed set.
    """

    def __init__(self, clock: Clock, max_bytes: int, ttl_s: float) -> None:
        self._clock = clock
        self._max_bytes = max_bytes
        self._ttl_s = ttl_s
        self._tenants: dict[str, TTLCache[bytes, _Entry]] = {}

    def get(self, tenant: str, key: bytes) -> CachedAnswer | None:
        entries = self._tenants.get(tenant)
        entry = None if entries is None else entries.get(key)
        return None if entry is None else entry.answer

    def put(self, tenant: str, key: bytes, answer: CachedAnswer, task: str) -> None:
        """Store a copy. An answer larger than the whole cache is not stored."""
        answer = replace(answer, guidance=_owned(answer.guidance), valid_while=_owned(answer.valid_while))
        entry = _Entry(answer, task, _ENTRY_BYTES + _size(answer))
        entries = self._of(tenant)
        if entry.size <= self._max_bytes:
            entries[key] = entry
        else:
            entries.pop(key, None)

    def flush(self, tenant: str = "", task: str = "", provider_id: str = "") -> int:
        flushed = 0
        for owner, entries in self._tenants.items():
            if tenant not in ("", owner):
                continue
            for key, entry in list(entries.items()):
                if task in ("", entry.task) and provider_id in ("", entry.answer.provider_id):
                    flushed += entries.pop(key, None) is not None
        return flushed

    @property
    def bytes_used(self) -> int:
        return int(sum(entries.currsize for entries in self._tenants.values()))

    def _of(self, tenant: str) -> TTLCache[bytes, _Entry]:
        entries = self._tenants.get(tenant)
        if entries is None:
            entries = TTLCache(self._max_bytes, self._ttl_s, timer=self._clock.now, getsizeof=_entry_size)
            self._tenants[tenant] = entries
        return entries


def _entry_size(entry: _Entry) -> int:
    return entry.size


def _owned(value: Any) -> Any:
    """The same with arrays that are ours and read-only: a view would keep the whole batch alive."""
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.flags.writeable = False
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value,
            **{
                field.name: _owned(getattr(value, field.name))
                for field in fields(value)
                if isinstance(getattr(value, field.name), np.ndarray)
            },
        )
    return value


def _size(value: Any) -> int:
    """Bytes a value takes, about."""
    if isinstance(value, np.ndarray):
        return _OBJECT_BYTES + value.nbytes
    if isinstance(value, str | bytes):
        return _OBJECT_BYTES + len(value)
    if isinstance(value, dict):
        return _OBJECT_BYTES + sum(_size(k) + _size(v) for k, v in value.items())
    if isinstance(value, tuple | list):
        return _OBJECT_BYTES + sum(map(_size, value))
    if is_dataclass(value) and not isinstance(value, type):
        return _OBJECT_BYTES + sum(_size(getattr(value, field.name)) for field in fields(value))
    return _OBJECT_BYTES
