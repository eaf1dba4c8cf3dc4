"""From a TOML file to a :class:`Config`, all or nothing."""

from __future__ import annotations

import contextlib
import copy
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from broker.config.consistency import check_consistency
from broker.config.model import Config
from broker.config.problems import ConfigError, Location, Problem, dotted, from_pydantic, in_file, nearest
from broker.config.providers import ProviderSettings
from broker.config.routes import RouteSettings
from broker.config.strict import Strict

M = TypeVar("M", bound=Strict)

ProviderKinds = Mapping[str, type[ProviderSettings]]
Strategies = Mapping[str, type[RouteSettings]]

_REPAIRS = 4  # a fault, the row it empties, and the table that row emptied, each may take one


def load(
    path: Path, kinds: ProviderKinds, strategies: Strategies, environ: Mapping[str, str] = os.environ
) -> Config:
    """Read and validate a file. ``kinds`` and ``strategies`` say which model reads which table.

    Raises :class:`ConfigError` with every problem found, a secret that auth needs included.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise ConfigError([Problem("", f"cannot be read: {reason}", file=str(path))]) from None
    return parse(text, kinds, strategies, environ, file=str(path), folder=path.resolve().parent)


def parse(
    text: str,
    kinds: ProviderKinds,
    strategies: Strategies,
    environ: Mapping[str, str] = os.environ,
    *,
    file: str = "<text>",
    folder: Path | None = None,
) -> Config:
    """As :func:`load`, for text that stands in no file; paths are relative to ``folder``."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([Problem("", f"is not TOML: {error}", file=file)]) from None
    reader = _Reader({"folder": folder or Path.cwd()})
    config = reader.config(document, kinds, strategies)
    if config is not None:
        reader.problems += check_consistency(config, environ)
    if config is None or reader.problems:
        raise ConfigError(in_file(reader.problems, file))
    return config


def _without_faults(document: dict[str, Any], error: ValidationError) -> dict[str, Any]:
    """The document with what was refused taken out, so that the rest can still be checked for consistency.

    What lacks a required key is taken out whole.
    """
    document = copy.deepcopy(document)
    for entry in error.errors():
        location = entry["loc"][:-1] if entry["type"] == "missing" else entry["loc"]
        if not location:
            continue
        *way, last = location
        table: Any = document
        with contextlib.suppress(KeyError, IndexError, TypeError):
            for part in way:
                table = table[part]
            del table[last]
    return document


class _Reader:
    """Validates table by table and gathers problems, so that one mistake hides no other."""

    def __init__(self, context: dict[str, Any]) -> None:
        self._context = context
        self.problems: list[Problem] = []

    def config(self, document: dict[str, Any], kinds: ProviderKinds, strategies: Strategies) -> Config | None:
        document = dict(document)
        providers, tasks = document.get("providers"), document.get("tasks")
        if isinstance(providers, list):
            document["providers"] = [
                self._provider(table, ("providers", index), kinds) for index, table in enumerate(providers)
            ]
        if isinstance(tasks, dict):
            document["tasks"] = {
                name: self._task(table, ("tasks", name), strategies) for name, table in tasks.items()
            }
        return self._whole(document)

    def _whole(self, document: dict[str, Any]) -> Config | None:
        """The configuration, or what can be made of it once its problems are noted."""
        for attempt in range(_REPAIRS):
            try:
                return Config.model_validate(document, context=self._context)
            except ValidationError as error:
                if attempt == 0:
                    self.problems += from_pydantic(error, Config)
                document = _without_faults(document, error)
        return None

    def _provider(self, table: Any, where: Location, kinds: ProviderKinds) -> Any:
        if not isinstance(table, dict):
            return table
        stand_in = ProviderSettings.model_construct(id=str(table.get("id", "")), kind="")
        return self._chosen(table, where, "kind", kinds) or stand_in

    def _task(self, table: Any, where: Location, strategies: Strategies) -> Any:
        if not isinstance(table, dict) or not isinstance(table.get("route"), dict):
            return table
        stand_in = RouteSettings.model_construct(strategy="", providers=())
        route = self._chosen(table["route"], (*where, "route"), "strategy", strategies) or stand_in
        return {**table, "route": route}

    def _chosen(
        self, table: dict[str, Any], where: Location, key: str, models: Mapping[str, type[M]]
    ) -> M | None:
        """The table as the model that its ``key`` names; None, and the problems noted, if it is invalid."""
        name = table.get(key)
        if isinstance(name, str) and name in models:
            return self._read(table, models[name], where)
        said = "is required" if name is None else f"is not one of {', '.join(sorted(models))}"
        hint = nearest(name, models) if isinstance(name, str) else ""
        self.problems.append(Problem(dotted((*where, key)), said, hint))
        return None

    def _read(self, table: dict[str, Any], model: type[M], where: Location) -> M | None:
        try:
            return model.model_validate(table, context=self._context)
        except ValidationError as error:
            self.problems += from_pydantic(error, model, where)
            return None
