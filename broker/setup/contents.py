"""What stands in the files that settings name, so that a file replaced under its old name is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from broker.config import Strict
from broker.providers.making import SetupError

Digests = tuple[tuple[str, str], ...]
"""(key of the setting, SHA-256 of the file it names), in the order of the keys."""


def digests_of(settings: Strict) -> Digests:
    """Raises SetupError, its ``key`` naming the setting, for a file that cannot be read."""
    return tuple((key, _digest(key, path)) for key, path in _files(settings))


def _files(settings: Strict, prefix: str = "") -> Iterator[tuple[str, Path]]:
    for key, value in settings:
        if isinstance(value, Path):
            yield prefix + key, value
        elif isinstance(value, Strict):
            yield from _files(value, f"{prefix}{key}.")


def _digest(key: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SetupError(key, f"{path} cannot be read: {error.strerror}") from None
