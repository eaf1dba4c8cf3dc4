"""The one error of the contract."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import TypeVar

E = TypeVar("E", bound=IntEnum)


class ContractError(ValueError):
    """A message that breaks the contract. ``message`` names the field and the fix and is safe to send on.

    ``reason`` is UPPER_SNAKE: INVALID_TENSOR, NON_FINITE, INVALID_COLUMN, INVALID_ENUM, INVALID_VALUE,
    TOO_MANY_ROWS, MISSING_FIELD.
    """

    def __init__(self, field: str, message: str, reason: str = "INVALID_VALUE") -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = f"{field}: {message}"
        self.reason = reason


def to_enum(kind: type[E], value: int, field: str, default: E | None = None) -> E:
    """The enum member of a wire number; 0 reads as ``default``, or is refused where there is none."""
    if value == 0 and default is not None:
        return default
    member: E | None = _members(kind).get(value)
    if member is None:
        known = ", ".join(one.name for one in kind)
        raise ContractError(field, f"{value} is not known; use one of {known}", "INVALID_ENUM")
    return member


@cache
def _members(kind: type[E]) -> dict[int, E]:
    """By number: calling the enum finds the same, by way of four functions."""
    return {int(member): member for member in kind}
