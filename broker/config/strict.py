"""The strictness that every table shares, and the types its keys are written in.

Nothing is coerced: ``"100"`` is no number, ``"false"`` is no boolean, NaN is no weight. A duration, a size or
a price carries its unit in the key, so a key without one is an unknown key.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
)

T = TypeVar("T")


class Strict(BaseModel):
    """A table: unknown keys, coercions, NaN and infinities are errors; frozen once read."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True
    )


def _tuple_of_list(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _below_the_file(value: Any, info: ValidationInfo) -> Any:
    """A path is relative to the folder of the file it stands in, wherever the broker was started."""
    if not isinstance(value, str):
        return value
    folder = (info.context or {}).get("folder", Path.cwd())
    return (Path(folder) / Path(value).expanduser()).resolve()


def _existing_file(value: Path) -> Path:
    if not _says(value.is_file):
        raise ValueError("no such file")
    return value


def _existing_folder(value: Path) -> Path:
    if not _says(value.is_dir):
        raise ValueError("no such folder")
    return value


def _says(question: Callable[[], bool]) -> bool:
    """A path that cannot even be looked at (too long, a folder that is closed) is an error of its own."""
    try:
        return question()
    except OSError as error:
        raise ValueError(f"cannot be looked at: {error.strerror}") from None


Many = Annotated[tuple[T, ...], BeforeValidator(_tuple_of_list)]
"""A TOML array, read as a tuple."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$")]
MOST = 2**31 - 1  # what gRPC and the contract's 32-bit fields can hold

PositiveInt = Annotated[int, Field(gt=0, le=MOST)]
Milliseconds = Annotated[int, Field(ge=0, le=MOST)]
PositiveMilliseconds = Annotated[int, Field(gt=0, le=MOST)]
Usd = Annotated[float, Field(ge=0, le=1e8)]
UsdEach = Annotated[float, Field(ge=0, le=1e3)]
"""A price of one thing: thousands of them are still an amount that the ledger can count."""

Fraction = Annotated[float, Field(ge=0, le=1)]
"""A share, 0 to 1."""

InputFile = Annotated[Path, BeforeValidator(_below_the_file), AfterValidator(_existing_file)]
InputFolder = Annotated[Path, BeforeValidator(_below_the_file), AfterValidator(_existing_folder)]
