"""From what was assembled to what is offered: sources with their settings, tasks with their routes."""

from __future__ import annotations

from collections.abc import Callable

from broker.routing.interface import Candidate
from broker.routing.registry import STRATEGIES
from broker.setup.assembly import Assembled
from broker.setup.catalogue import Catalogue, Source, TaskRoute
from broker.setup.task_folder import TaskFolder
from protos.types import Constraints


def make_catalogue(
    assembled: Assembled,
    generation: int,
    observe: Callable[[Source], Candidate],
    before: Catalogue | None = None,
) -> Catalogue:
    """``before``: whose sources, where they stay the same, stay drained if they are."""
    sources: dict[str, Source] = {}
    for settings in assembled.config.providers:
        provider = assembled.providers[settings.id]
        old = before.sources.get(settings.id) if before else None
        sources[settings.id] = Source(
            provider,
            assembled.generations[settings.id],
            settings.final_cap_ms,
            settings.cache,
            settings.coalesce,
            draining=old is not None and old.provider is provider and old.draining,
        )
    routes = {
        task: TaskRoute(
            task,
            STRATEGIES[told.route.strategy].make(told.route),
            tuple(told.route.providers),
            told.route.fallback,
            assembled.folders.get(task),
            _constraints(assembled.folders.get(task), generation),
        )
        for task, told in assembled.config.tasks.items()
    }
    return Catalogue(generation, sources, routes, observe)


def _constraints(folder: TaskFolder | None, version: int) -> Constraints | None:
    """A task's hard bounds, as every session of it is told them."""
    if folder is None:
        return None
    return Constraints(
        low=folder.action.low,
        high=folder.action.high,
        hard=True,
        safe_action=folder.safe_action,
        ttl_ms=folder.constraints_ttl_ms,
        version=version,
        source="task",
    )
