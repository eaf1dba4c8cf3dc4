"""Which action a lane takes where chunks overlap. Constraints apply after this, never before.

REPLACE_TAIL   the newer chunk, as soon as it is there
FINISH_FIRST   the older chunk to its end, then the newer
CROSSFADE(n)   from older to newer over the newer's first n usable rows: row k of it weighs (k + 1) / (n + 1)
WEIGHTED(w)    (1 - w) * older + w * newer wherever they overlap
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.client.lane import Held
from protos.types import Merge, MergeRule

Row = NDArray[np.floating]
Dims = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class MergedRow:
    """`action` is `[A]`; `dims` `[A]` marks the dimensions that a source gave, None: all of them."""

    action: Row
    dims: Dims | None
    held: Held
    merged: bool


def merge_row(chunks: Sequence[Held], step: int, rule: Merge, blend: Sequence[bool] = ()) -> MergedRow | None:
    """The row for control step `step` out of `chunks`, which rise by rank and all cover it.

    A dimension that is False in `blend` (`[A]`; empty: all True) is never averaged: it is the newer one's.
    """
    if not chunks:
        return None
    if len(chunks) == 1 or rule.rule is MergeRule.REPLACE_TAIL:
        newest = chunks[-1]
        if _dims(newest) is None or len(chunks) == 1:
            return MergedRow(_row(newest, step), _dims(newest), newest, False)
    if rule.rule is MergeRule.FINISH_FIRST:
        chunks = chunks[::-1]
    return _fold(chunks, step, rule, np.asarray(blend, dtype=np.bool_) if blend else None)


def _fold(chunks: Sequence[Held], step: int, rule: Merge, blend: Dims | None) -> MergedRow:
    action = np.array(_row(chunks[0], step))
    given = _mask(chunks[0], action)
    for newer in chunks[1:]:
        row, has = _row(newer, step), _mask(newer, action)
        share = np.where(given, newer_share(newer, step, rule), 1.0)
        if blend is not None:
            share = np.where(blend, share, 1.0)
        action = np.where(has, (1.0 - share) * action + share * row, action).astype(action.dtype)
        given = given | has
    return MergedRow(action, None if given.all() else given, chunks[-1], True)


def newer_share(newer: Held, step: int, rule: Merge) -> float:
    """The weight of the newer row, 0..1."""
    match rule.rule:
        case MergeRule.CROSSFADE:
            k = step - max(newer.first_step, newer.arrived_step)
            return min(1.0, max(0, k + 1) / (rule.crossfade_steps + 1))
        case MergeRule.WEIGHTED:
            return rule.weight
        case _:  # in FINISH_FIRST the older chunk comes last in the fold
            return 1.0


def _row(held: Held, step: int) -> Row:
    row: Row = held.chunk.actions[held.row, step - held.first_step]
    return row


def _dims(held: Held) -> Dims | None:
    valid = held.chunk.valid_dims
    return np.asarray(valid, dtype=np.bool_) if valid and not all(valid) else None


def _mask(held: Held, action: Row) -> Dims:
    dims = _dims(held)
    return np.ones(action.shape, dtype=np.bool_) if dims is None else dims
