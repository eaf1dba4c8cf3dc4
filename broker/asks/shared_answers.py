"""Rows that the cache can answer, and answers that it keeps: the cache as the story meets it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from broker.asks.answering import Landing, moved, rows_of
from broker.cache.interface import AnswerCache, CachedAnswer
from broker.cache.keys import KeyScope, key_scope, row_keys
from broker.events import CacheLookedUp, Event
from broker.outcomes import AttemptOutcome
from broker.setup.catalogue import Source
from protos.types import CacheStatus, ProviderInfo, Query

Keys = Callable[[str, str, Source, Query], Sequence[bytes | None]]
"""(tenant, task, source, query) -> a key a row, None for a row that equals nothing."""


@dataclass(frozen=True, slots=True)
class SharedAnswers:
    """Only outcome ``ok`` is kept, under the source that gave it, a fallback's answer included."""

    cache: AnswerCache
    keys: Keys
    emit: Callable[[Event], None]

    def find(self, tenant: str, source: Source, keys: Sequence[bytes | None]) -> list[CachedAnswer | None]:
        """What is held, row by row. A source that is not cached holds nothing."""
        if not source.cached:
            return [None] * len(keys)
        found = [None if key is None else self.cache.get(tenant, key) for key in keys]
        self._count(source, CacheStatus.HIT, sum(answer is not None for answer in found))
        self._count(source, CacheStatus.MISS, sum(answer is None for answer in found))
        return found

    def keep(self, tenant: str, task: str, source: Source, landing: Landing) -> None:
        guided = landing.called.guided
        if guided.outcome is not AttemptOutcome.OK or guided.guidance is None:
            return
        if not (source.cached and source.keyed):
            return
        for row, key in enumerate(self.keys(tenant, task, source, landing.query)):
            if key is None:
                continue
            answer = CachedAnswer(
                provider_id=landing.called.provider_id,
                guidance=moved(rows_of(guided.guidance, [row]), [-landing.query.steps[row]]),
                confidence=guided.confidence[row] if guided.confidence else None,
                valid_while=guided.valid_while,
                stored_at=landing.ended_at,
            )
            self.cache.put(tenant, key, answer, task)

    def _count(self, source: Source, status: CacheStatus, rows: int) -> None:
        if rows:
            self.emit(CacheLookedUp(source.info.provider_id, status, rows))


class SharedKeys:
    """Keys of rows; what is the same for all rows of a tenant, task and source is worked out once."""

    MAX_SCOPES = 1024

    def __init__(self) -> None:
        self._scopes: dict[tuple[str, str, str, int], tuple[ProviderInfo, KeyScope]] = {}

    def __call__(self, tenant: str, task: str, source: Source, query: Query) -> Sequence[bytes | None]:
        place = (tenant, task, source.info.provider_id, source.generation)
        held = self._scopes.get(place)
        if held is None or held[0] is not source.info:
            if len(self._scopes) >= self.MAX_SCOPES:
                self._scopes.clear()
            scope = key_scope(tenant, task, (), source.info.action, source.info, source.generation)
            held = self._scopes[place] = (source.info, scope)
        return row_keys(query, held[1])
