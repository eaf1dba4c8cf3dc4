"""What is wrong with a configuration, said so that it can be put right: file, path, reason, nearest key."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

Location = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """``path`` is dotted, as an operator would look for it: ``providers[1].timeout``."""

    path: str
    message: str
    nearest: str = ""
    file: str = ""

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.file, self.path) if part)
        hint = f" (nearest valid key: {self.nearest})" if self.nearest else ""
        return f"{where}: {self.message}{hint}"


class ConfigError(Exception):
    """All problems of a file at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


def in_file(problems: Iterable[Problem], file: str) -> list[Problem]:
    return [replace(problem, file=file) for problem in problems]


def dotted(location: Location) -> str:
    """``("providers", 1, "timeout")`` as ``providers[1].timeout``."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def nearest(word: str, valid: Iterable[str]) -> str:
    """The valid word most like it, however unlike; a key and its unit-less form are always neighbours."""
    choices = sorted(valid)
    with_unit = [choice for choice in choices if choice.rpartition("_")[0] in (word, word.rpartition("_")[0])]
    matches = difflib.get_close_matches(word, with_unit or choices, n=1, cutoff=0.0)
    return matches[0] if matches else ""


def from_pydantic(error: ValidationError, model: type[BaseModel], prefix: Location = ()) -> Iterator[Problem]:
    """One problem an error of ``model`` found at ``prefix``; input values are never repeated."""
    for entry in error.errors(include_url=False, include_input=False):
        *way, key = entry["loc"] or ("",)
        tables, walked = _walk(model, way)
        path = dotted((*prefix, *walked, key)).removesuffix(".")
        if entry["type"] == "extra_forbidden":
            valid = {name for table in tables for name in table.model_fields}
            yield Problem(path, "unknown key", nearest(str(key), valid))
        elif entry["type"] == "missing":
            yield Problem(path, "is required")
        else:
            yield Problem(path, entry["msg"].removeprefix("Value error, "))


def _walk(model: type[BaseModel], way: Iterable[int | str]) -> tuple[list[type[BaseModel]], Location]:
    """The tables that may stand at a location, and the location as it reads in the file.

    Indices and names in a table of tables lead to no other model. pydantic names the chosen member of a
    tagged union in its locations; the file does not.
    """
    tables, walked = [model], []
    for part in way:
        fields = [table.model_fields[part] for table in tables if part in table.model_fields]
        chosen = [table for table in tables if part in _tags(table)]
        if fields:
            tables = [inner for field in fields for inner in _models_in(field.annotation)] or tables
        elif len(tables) > 1 and chosen:
            tables = chosen
            continue
        walked.append(part)
    return tables, tuple(walked)


def _tags(table: type[BaseModel]) -> set[Any]:
    return {
        value
        for field in table.model_fields.values()
        if get_origin(field.annotation) is Literal
        for value in get_args(field.annotation)
    }


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
