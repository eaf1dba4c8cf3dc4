"""From a configuration to sources that are made but not started; what is unchanged since before is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from broker.clock import Clock
from broker.config import Config, ProviderSettings
from broker.outcomes import AttemptOutcome
from broker.providers.interface import Call, Guided, Provider, ProviderError
from broker.providers.making import Kind, Making, SetupError
from broker.setup.contents import Digests, digests_of
from broker.setup.task_folder import TaskFolder, TaskFolderError, load_task_folder
from protos.types import ProviderInfo, ProviderKind, ProviderState, Query


@dataclass(frozen=True, slots=True)
class Assembled:
    """What one configuration is made of.

    ``generations``: when each source was last configured anew; ``digests``: what its files held then.
    """

    config: Config
    folders: Mapping[str, TaskFolder] = field(default_factory=dict)
    digests: Mapping[str, Digests] = field(default_factory=dict)
    providers: dict[str, Provider] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    disabled: dict[str, str] = field(default_factory=dict)  # why, in words, by id

    def keep(self, name: str, before: Assembled) -> None:
        """Take a source over as it is."""
        self.providers[name], self.generations[name] = before.providers[name], before.generations[name]
        if name in before.disabled:
            self.disabled[name] = before.disabled[name]


class DisabledProvider:
    """Stands where a source is configured and cannot be used: its secret is missing. Never started."""

    def __init__(self, settings: ProviderSettings) -> None:
        kind = ProviderKind[settings.kind.upper()]
        self.info = ProviderInfo(settings.id, kind, frozenset(), settings.price.price())
        self.state = ProviderState.OPEN

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def guide(self, query: Query, call: Call) -> Guided:
        raise ProviderError(AttemptOutcome.MISCONFIGURED, "disabled")


class Assembly:
    """``kinds`` is the registry of sources; ``environ`` is where their secrets are."""

    def __init__(self, kinds: Mapping[str, Kind], clock: Clock, environ: Mapping[str, str]) -> None:
        self._kinds = kinds
        self._clock = clock
        self._environ = environ

    def assemble(self, config: Config, generation: int, before: Assembled | None = None) -> Assembled:
        """Raises SetupError, its ``key`` naming the table, where a source or a task cannot be made."""
        digests = {settings.id: _digests(settings) for settings in config.providers}  # before they are read
        after = Assembled(config, _folders(config), digests)
        for settings in config.providers_in_order():
            name = settings.id
            if before is not None and self._unchanged(before, after, settings):
                after.keep(name, before)
                continue
            after.generations[name] = generation
            missing = settings.missing_secret(self._environ)
            if missing is not None:
                after.disabled[name], after.providers[name] = missing, DisabledProvider(settings)
                continue
            tasks = {task: after.folders[task] for task in _tasks_of(config, name) if task in after.folders}
            after.providers[name] = self._make(settings, Making(self._clock, tasks, dict(after.providers)))
        return after

    def _make(self, settings: ProviderSettings, making: Making) -> Provider:
        try:
            return self._kinds[settings.kind].make(settings, making)
        except SetupError as error:
            raise _of_source(settings, error) from error

    def _unchanged(self, before: Assembled, after: Assembled, settings: ProviderSettings) -> bool:
        """Whether a source may stay as it is: settings, files, secrets, tasks, and what it stands on."""
        name = settings.id
        if name not in before.providers or before.config.provider(name) != settings:
            return False
        if before.digests[name] != after.digests[name]:
            return False
        if (settings.missing_secret(self._environ) is None) == (name in before.disabled):
            return False
        tasks = _tasks_of(after.config, name)
        if tasks != _tasks_of(before.config, name):
            return False
        if any(after.folders.get(task) != before.folders.get(task) for task in tasks):
            return False
        return all(after.generations[r] == before.generations.get(r) for r in settings.references())


def _digests(settings: ProviderSettings) -> Digests:
    try:
        return digests_of(settings)
    except SetupError as error:
        raise _of_source(settings, error) from error


def _of_source(settings: ProviderSettings, error: SetupError) -> SetupError:
    """The same, its key naming the source as well."""
    return SetupError(f"providers.{settings.id}.{error.key}", error.message)


def _folders(config: Config) -> dict[str, TaskFolder]:
    folders: dict[str, TaskFolder] = {}
    for task, settings in config.tasks.items():
        if settings.folder is None:
            continue
        try:
            folders[task] = load_task_folder(settings.folder)
        except TaskFolderError as error:
            raise SetupError(f"tasks.{task}.folder", str(error)) from error
    return folders


def _tasks_of(config: Config, provider_id: str) -> list[str]:
    """The tasks a source serves: those it lists, else those whose routes name it or a source built on it."""
    settings = config.provider(provider_id)
    if settings.tasks:
        return list(settings.tasks)
    users = [other.id for other in config.providers if provider_id in other.references()]
    return [
        task
        for task, told in config.tasks.items()
        if provider_id in (*told.route.providers, told.route.fallback)
        or any(task in _tasks_of(config, user) for user in users)
    ]
