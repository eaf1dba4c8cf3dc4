"""Columns of an ask, checked and copied once. Names the field, row and limit that is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from protos.types import Tensors, TensorSpec

SMALL = 256  # elements; a sum of so many costs less than it takes to start numpy


def integers(column: Iterable[int], name: str, rows: int | None = None) -> list[int]:
    """A list of plain integers, `rows` long if given."""
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    if rows is not None and len(values) != rows:
        raise ValueError(f"{name} has {len(values)} entries for {rows} rows")
    return values


def tensors(
    values: Mapping[str, Any], specs: Mapping[str, TensorSpec], rows: int, field: str = "observations"
) -> Tensors:
    """Copies `[B, ...]` of the declared tensors in their declared dtypes: the caller may go on using his
    buffers.

    Raises ValueError for a tensor that is missing, not declared, or of the wrong shape or kind of dtype.
    """
    if values.keys() != specs.keys():
        raise ValueError(f"{field} has {sorted(values)}; declared are {sorted(specs)}")
    copies = {}
    for name, value in values.items():
        spec = specs[name]
        if type(value) is np.ndarray and value.dtype == spec.dtype and value.shape == (rows, *spec.shape):
            copies[name] = value.copy()
        else:
            copies[name] = _tensor(value, spec, rows, f"{field}[{name}]")
    return copies


def _tensor(value: Any, spec: TensorSpec, rows: int, place: str) -> np.ndarray:
    given = np.asarray(value)
    if not np.can_cast(given.dtype, spec.dtype, casting="same_kind"):
        raise ValueError(f"{place} is {given.dtype}, declared as {spec.dtype}")
    if given.shape != (rows, *spec.shape) and not (spec.max_shape and given.shape[:1] == (rows,)):
        raise ValueError(f"{place} has shape {given.shape}; {rows} rows need {(rows, *spec.shape)}")
    return np.array(given, dtype=spec.dtype, order="C")


def non_finite(tensors: Tensors, rows: int) -> dict[int, str]:
    """The rows with a NaN or an infinity, and where its first one is; empty where all is well."""
    bad: dict[int, str] = {}
    for name, value in tensors.items():
        if value.dtype.kind != "f" or (value.size <= SMALL and math.isfinite(sum(value.ravel().tolist()))):
            continue  # a finite sum proves finite terms
        flat = np.isfinite(value.reshape(rows, -1))
        for row in np.flatnonzero(~flat.all(axis=1)).tolist():
            bad.setdefault(
                row, f"observations[{name}] row {row}, index {int(np.argmin(flat[row]))} is not finite"
            )
    return bad


def pick(tensors: Tensors, rows: Sequence[int]) -> Tensors:
    index = np.asarray(rows, dtype=np.intp)
    return {name: value[index] for name, value in tensors.items()}
