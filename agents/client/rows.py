"""Columns of an ask, checked and copied once. Names the field, row and limit that is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from protos.types import Tensors, TensorSpec


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
    return {name: _tensor(value, specs[name], rows, f"{field}[{name}]") for name, value in values.items()}


def _tensor(value: Any, spec: TensorSpec, rows: int, place: str) -> np.ndarray:
    if type(value) is np.ndarray and value.dtype == spec.dtype and value.shape == (rows, *spec.shape):
        return value.copy()
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
        if value.dtype.kind != "f" or math.isfinite(np.vdot(value, value)):
            continue  # a finite sum of squares proves finite terms
        flat = np.isfinite(value.reshape(rows, -1))
        for row in np.flatnonzero(~flat.all(axis=1)).tolist():
            bad.setdefault(
                row, f"observations[{name}] row {row}, index {int(np.argmin(flat[row]))} is not finite"
            )
    return bad


def pick(tensors: Tensors, rows: Sequence[int]) -> Tensors:
    index = np.asarray(rows, dtype=np.intp)
    return {name: value[index] for name, value in tensors.items()}
