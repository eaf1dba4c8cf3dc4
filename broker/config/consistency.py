"""What no single table can know: that names exist, are unique, and that secrets are in the environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError

from broker.config.model import Config
from broker.config.problems import Problem, nearest
from broker.config.secrets import MissingSecret


def check_consistency(config: Config, environ: Mapping[str, str]) -> list[Problem]:
    checks: list[Callable[[Config], Iterator[Problem]]] = [_providers, _circles, _routes, _auth]
    return [p for check in checks for p in check(config)] + list(_tokens(config, environ))


def _providers(config: Config) -> Iterator[Problem]:
    ids = [settings.id for settings in config.providers]
    for index, settings in enumerate(config.providers):
        if settings.id and settings.id in ids[:index]:
            yield Problem(f"providers[{index}].id", f"{settings.id!r} is listed twice")
        for name in settings.references():
            if name not in ids or name == settings.id:
                fault = f"{settings.id!r} refers to {name!r}, which is not another provider"
                yield Problem(f"providers[{index}]", fault, nearest(name, set(ids) - {settings.id}))
        for task in settings.tasks:
            if task not in config.tasks:
                fault = f"{task!r} is not a configured task"
                yield Problem(f"providers[{index}].tasks", fault, nearest(task, config.tasks))


def _circles(config: Config) -> Iterator[Problem]:
    try:
        config.providers_in_order()
    except CycleError as error:
        yield Problem("providers", f"stand on each other in a circle: {' -> '.join(error.args[1])}")


def _routes(config: Config) -> Iterator[Problem]:
    by_id = {settings.id: settings for settings in config.providers}
    for task, settings in config.tasks.items():
        route = settings.route
        named = [("providers", name) for name in route.providers]
        named += [("fallback", route.fallback)] if route.fallback else []
        for key, name in named:
            path = f"tasks.{task}.route.{key}"
            if name not in by_id:
                yield Problem(path, f"{name!r} is not a configured provider", nearest(name, by_id))
            elif by_id[name].tasks and task not in by_id[name].tasks:
                yield Problem(path, f"{name!r} does not serve this task: its `tasks` leave it out")
        for name in sorted({n for n in route.providers if route.providers.count(n) > 1}):
            yield Problem(f"tasks.{task}.route.providers", f"{name!r} is listed twice")


def _auth(config: Config) -> Iterator[Problem]:
    if config.auth.enabled is False and not config.loopback_only:
        fault = "cannot be off: an address can be reached from other machines"
        yield Problem("auth.enabled", fault)
    if config.auth_enabled and not config.auth.tokens:
        yield Problem("auth.tokens", "is required: auth is on, and nobody has a token", "auth.tokens")
    names = [token.name for token in config.auth.tokens]
    for index, token in enumerate(config.auth.tokens):
        if token.name in names[:index]:
            yield Problem(f"auth.tokens[{index}].name", f"{token.name!r} is listed twice")
        if token.tenant not in config.tenants:
            fault = f"{token.tenant!r} is not a configured tenant"
            yield Problem(f"auth.tokens[{index}].tenant", fault, nearest(token.tenant, config.tenants))


def _tokens(config: Config, environ: Mapping[str, str]) -> Iterator[Problem]:
    """Missing secrets stop the broker; a shared one would let one tenant be taken for another."""
    if not config.auth_enabled:
        return
    seen: dict[str, str] = {}
    for index, token in enumerate(config.auth.tokens):
        path = f"auth.tokens[{index}].token"
        try:
            secret = token.token.resolve(environ)
        except MissingSecret as missing:
            yield Problem(path, str(missing))
            continue
        if secret in seen:
            yield Problem(path, f"{token.token.variable} holds the same secret as {seen[secret]}")
        seen[secret] = token.token.variable
