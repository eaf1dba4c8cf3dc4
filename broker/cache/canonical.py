"""One byte string for one value: equal values give equal bytes, different ones different bytes.

Every part carries its type and its length, so that no two values run into each other.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def canonical(value: Any) -> bytes:
    """Raises TypeError for a value that has no canonical form (objects, functions)."""
    if value is None:
        return b"-"
    if isinstance(value, bool | np.bool_):
        return b"t" if value else b"f"
    if isinstance(value, int | np.integer):  # enums too: their numbers are the wire's
        return _part(b"i", str(int(value)).encode())
    if isinstance(value, float | np.floating):
        return b"d" + struct.pack("<d", float(value) + 0.0)  # -0.0 + 0.0 is 0.0
    if isinstance(value, str):
        return _part(b"s", value.encode())
    if isinstance(value, bytes):
        return _part(b"b", value)
    return _compound(value)


def _compound(value: Any) -> bytes:
    if isinstance(value, np.ndarray):
        return _part(b"a", header(value.dtype, value.shape) + canonical_array(value).tobytes())
    if isinstance(value, np.dtype):
        return _part(b"y", value.newbyteorder("<").str.encode())
    if isinstance(value, Mapping):
        return _items(b"m", (canonical(pair) for pair in sorted(value.items(), key=lambda item: item[0])))
    if isinstance(value, Set):
        return _items(b"e", sorted(map(canonical, value)))
    if isinstance(value, Sequence):
        return _items(b"l", map(canonical, value))
    if is_dataclass(value) and not isinstance(value, type):
        parts = (canonical((field.name, getattr(value, field.name))) for field in fields(value))
        return _items(b"r" + type(value).__name__.encode(), parts)
    raise TypeError(f"{type(value).__name__} has no canonical form")


def header(dtype: np.dtype, shape: Sequence[int]) -> bytes:
    """What tells arrays of the same bytes apart: dtype and shape, not memory order."""
    return f"{dtype.newbyteorder('<').str}{tuple(shape)}".encode()


def canonical_array(array: np.ndarray) -> np.ndarray:
    """The same numbers in C order and little-endian, -0.0 as 0.0. TypeError for object arrays."""
    if array.dtype.hasobject:
        raise TypeError("an object array has no canonical form")
    if np.issubdtype(array.dtype, np.inexact):
        array = array + array.dtype.type(0)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


def _part(tag: bytes, content: bytes) -> bytes:
    return b"%b%d:%b" % (tag, len(content), content)


def _items(tag: bytes, parts: Any) -> bytes:
    return _part(tag, b"".join(parts))
