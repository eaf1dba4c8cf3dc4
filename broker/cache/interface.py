"""What the service knows of a cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from protos.types import Guidance, ValidWhile


@dataclass(frozen=True, slots=True, eq=False)
class CachedAnswer:
    """One row's answer, batch dimension 1. ``stored_at`` is in seconds on the broker's clock."""

    provider_id: str
    guidance: Guidance
    confidence: float | None
    valid_while: ValidWhile | None
    stored_at: float


class AnswerCache(Protocol):
    """Partitioned by tenant, bounded in bytes, exact. Keys come from :mod:`broker.cache.keys`."""

    def get(self, tenant: str, key: bytes) -> CachedAnswer | None: ...

    def put(self, tenant: str, key: bytes, answer: CachedAnswer, task: str) -> None: ...

    def flush(self, tenant: str = "", task: str = "", provider_id: str = "") -> int:
        """Drop what matches; empty fields match all. Returns how many entries went."""
        ...
