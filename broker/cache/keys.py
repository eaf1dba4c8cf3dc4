"""Exact keys: the whole request but for what is listed here, and where it was asked.

What is not named below is in the key, so that a field added to the vocabulary can cost a hit but can never
give one request the answer of another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from broker.cache.canonical import canonical, canonical_array, header
from protos.types import ActionSpec, AskOptions, Prefix, ProviderInfo, Query, SimState, TensorSpec

KEY_BYTES = 16

# Who asks, when, how long it may take, what it may cost: none of it changes what a source says. The source
# itself is in the scope, whether it was named or chosen.
DENIED_OPTIONS = frozenset(
    {
        "provider_id",
        "mode",
        "first_answer_by_ms",
        "final_by_ms",
        "max_price_usd",
        "accept_predicted",
        "priority",
    }
)
DENIED_COLUMNS = frozenset(
    {
        "options",  # has its own list
        "lanes",
        "ask_ids",
        "episodes",
        "steps",
        "lane_generations",
        "obs_time_ns",
        "value_at_stake_usd",
    }
)
ONLY_IF_READ = frozenset(
    {"prefix", "sim_state", "context", "history", "expected_delay_steps", "runway_steps"}
)
"""In the key of sources that say they read them; the last two also go with a prefix that is read."""


@dataclass(frozen=True, slots=True)
class KeyScope:
    """Where a key is valid. ``digest`` is of tenant, task, schema, source and its config generation."""

    digest: bytes
    columns: tuple[str, ...]


def key_scope(
    tenant: str,
    task: str,
    observations: Sequence[TensorSpec],
    action: ActionSpec | None,
    info: ProviderInfo,
    generation: int,
) -> KeyScope:
    """Made once per session and source. ``generation`` rises whenever the source was configured anew."""
    place = (tenant, task, tuple(observations), action, info.provider_id, generation)
    read = _read_columns(info)
    columns = tuple(
        field.name
        for field in fields(Query)
        if field.name not in DENIED_COLUMNS and (field.name not in ONLY_IF_READ or field.name in read)
    )
    return KeyScope(_hash(canonical(place)).digest(), columns)


def row_keys(query: Query, scope: KeyScope) -> list[bytes | None]:
    """One key a row; None for a row that holds a non-finite number: such a row equals nothing.

    Raises TypeError for object arrays.
    """
    shared = _hash(scope.digest)
    shared.update(canonical([(name, value) for name, value in _options(query.options)]))
    finite = np.ones(query.rows, bool)
    blocks: list[np.ndarray] = []  # [B, bytes] each
    for name in scope.columns:
        for label, column in _arrays(name, query):
            shared.update(canonical((label, header(column.dtype, column.shape[1:]))))
            blocks.append(_bytes_of_rows(column))
            finite &= _finite_rows(column)
    rows = np.concatenate(blocks, axis=1) if blocks else np.zeros((query.rows, 0), np.uint8)
    prefixes = [b""] * query.rows
    if query.prefix and "prefix" in scope.columns:
        prefixes = [canonical(_relative(p, step)) for p, step in zip(query.prefix, query.steps, strict=True)]
        finite &= [bool(np.isfinite(p.actions).all()) for p in query.prefix]
    return [
        _row_key(shared, row.tobytes(), prefix) if good else None
        for row, prefix, good in zip(rows, prefixes, finite, strict=True)
    ]


def _row_key(shared: hashlib.blake2b, row: bytes, prefix: bytes) -> bytes:
    key = shared.copy()
    key.update(row)
    key.update(prefix)
    return key.digest()


def _hash(content: bytes) -> hashlib.blake2b:
    return hashlib.blake2b(content, digest_size=KEY_BYTES)


def _read_columns(info: ProviderInfo) -> set[str]:
    read = {field.name for field in fields(info.reads) if getattr(info.reads, field.name)}
    if "prefix" in read:
        read |= {"expected_delay_steps", "runway_steps"}
    return read | set(info.key_fields)


def _options(options: AskOptions) -> Iterator[tuple[str, object]]:
    for field in fields(options):
        if field.name not in DENIED_OPTIONS:
            yield field.name, getattr(options, field.name)


def _arrays(name: str, query: Query) -> Iterator[tuple[str, np.ndarray]]:
    """A column of the query as labelled arrays ``[B, ...]``; one that was not given has none."""
    value = getattr(query, name)
    if isinstance(value, Mapping):
        for tensor in sorted(value):
            yield f"{name}.{tensor}", value[tensor]
    elif isinstance(value, SimState):
        yield f"{name}.{value.spec}.{value.model_id}", value.state
    elif name != "prefix" and value is not None and len(value):
        yield name, np.asarray(value)


def _bytes_of_rows(column: np.ndarray) -> np.ndarray:
    rows = canonical_array(column).reshape(column.shape[0], -1)
    return rows.view(np.uint8) if rows.size else np.zeros((column.shape[0], 0), np.uint8)


def _finite_rows(column: np.ndarray) -> np.ndarray:
    if not np.issubdtype(column.dtype, np.inexact):
        return np.ones(column.shape[0], bool)
    finite: np.ndarray = np.isfinite(column).reshape(column.shape[0], -1).all(axis=1)
    return finite


def _relative(prefix: Prefix, step: int) -> Prefix:
    """Counted from the row's step: at which step of an episode it stands changes no answer."""
    return replace(prefix, first_step=prefix.first_step - step)
