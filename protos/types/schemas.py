"""Tensors by name, and what they and actions look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

Tensors = Mapping[str, np.ndarray]
"""Named tensors, each ``[B, ...]`` and raw: as the environment gave them, never normalised."""

NO_TENSORS: Tensors = MappingProxyType({})


def no_tensors() -> Tensors:
    """The default of dataclass fields: before Python 3.12 a mapping proxy itself may not be one."""
    return NO_TENSORS


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One named tensor of a row; ``shape`` leaves the batch dimension out."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    unit: str = ""
    max_shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BoxAction:
    shape: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DiscreteAction:
    n: int
    start: int = 0


ActionSpec = BoxAction | DiscreteAction
