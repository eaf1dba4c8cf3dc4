"""A new configuration while sessions are open: validate, make, start, and only then swap; all or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from broker.config import Config, ConfigError
from broker.errors import PreconditionFailed
from broker.events import Event, Reloaded
from broker.providers.interface import Provider
from broker.providers.making import SetupError
from broker.setup.assembly import Assembled, Assembly

RESTART_ONLY = ("server", "ledger", "cache", "limits", "log")


@dataclass(frozen=True, slots=True)
class Changes:
    generation: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Reloader:
    """``install`` swaps everything to what was assembled; ``retire`` closes sources that are out of use, each
    as it was configured.

    A source is made anew when its settings, its files' contents, its tasks or a source it stands on changed.
    """

    read: Callable[[], Config]
    assembly: Assembly
    current: Assembled
    generation: int
    install: Callable[[Assembled, int], None]
    retire: Callable[[list[Provider], Config], None]
    emit: Callable[[Event], None]
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def reload(self) -> Changes:
        """Raises PreconditionFailed, in words for the operator, and leaves all as it was."""
        async with self._lock:
            try:
                return await self._reload()
            except PreconditionFailed as error:
                self.emit(Reloaded(False, self.generation, error.message))
                raise

    async def _reload(self) -> Changes:
        before, generation = self.current, self.generation + 1
        try:
            config = self.read()
            _refuse_restart_only(before.config, config)
            after = self.assembly.assemble(config, generation, before)
        except (ConfigError, SetupError) as error:
            raise _refused(str(error)) from error
        await _start({name: p for name, p in after.providers.items() if before.providers.get(name) is not p})
        self.current, self.generation = after, generation
        self.install(after, generation)
        unused = [p for name, p in before.providers.items() if after.providers.get(name) is not p]
        self.retire(unused, before.config)
        self.emit(Reloaded(True, generation))
        return _changes(before, after, generation)


async def _start(providers: Mapping[str, Provider]) -> None:
    """All of them or none. Whatever a source fails with as it starts, the old ones serve on."""
    starts = [provider.start() for provider in providers.values()]
    results = await asyncio.gather(*starts, return_exceptions=True)
    for name, failed in zip(providers, results, strict=True):
        if failed is not None:
            await asyncio.gather(*(p.close() for p in providers.values()), return_exceptions=True)
            raise _refused(_fault(name, failed)) from failed


def _fault(provider_id: str, failed: BaseException) -> str:
    if isinstance(failed, SetupError):
        return f"providers.{provider_id}.{failed}"
    return f"providers.{provider_id}: could not be started ({type(failed).__name__})"


def _refuse_restart_only(before: Config, after: Config) -> None:
    for table in RESTART_ONLY:
        if getattr(before, table) != getattr(after, table):
            raise _refused(f"[{table}] cannot change while the broker runs; restart it")


def _refused(why: str) -> PreconditionFailed:
    return PreconditionFailed(
        f"the configuration was refused, the old one serves on: {why}", "INVALID_CONFIG"
    )


def _changes(before: Assembled, after: Assembled, generation: int) -> Changes:
    old, new = before.providers, after.providers
    return Changes(
        generation,
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(sorted(name for name in new.keys() & old.keys() if new[name] is not old[name])),
    )
