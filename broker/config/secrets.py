"""Secrets stand in the environment; the configuration only says in which variable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, InstanceOf

_REFERENCE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")


class MissingSecret(Exception):
    """The variable is unset, empty or blank. Names the variable, never a value."""

    def __init__(self, variable: str, fault: str) -> None:
        super().__init__(f"environment variable {variable} is {fault}")
        self.variable = variable


@dataclass(frozen=True, slots=True)
class SecretReference:
    """``env:NAME``. Holds no secret, so that it may be printed."""

    variable: str

    def resolve(self, environ: Mapping[str, str]) -> str:
        """The secret without surrounding white space. Raises :class:`MissingSecret`."""
        value = environ.get(self.variable)
        if value is None:
            raise MissingSecret(self.variable, "not set")
        if not value.strip():
            raise MissingSecret(self.variable, "empty" if not value else "blank")
        return value.strip()


def _reference(value: Any) -> Any:
    if isinstance(value, SecretReference):
        return value
    match = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError('a secret is written as "env:NAME", the variable that holds it')
    return SecretReference(match[1])


Secret = Annotated[InstanceOf[SecretReference], BeforeValidator(_reference)]
