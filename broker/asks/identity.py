"""Who asked what: the same (tenant, agent, ask id) with the same body is the same ask, and runs once.

A running ask is found with the flight that carries it, an ended one with its answer for ``ttl_s`` more. Ended
answers are kept as bytes, because they are many: bytes are small and cost the garbage collector nothing.

An ask that failed is forgotten: its retry is a new try, as the failure's own hint says. So is, beyond
``max_rows`` ended rows, the oldest one: those that were free go first, since to run them again costs nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np

from broker.errors import InvalidRequest
from protos.types import AskOptions, Query

MAX_AGENT = 256  # characters of a name

Bodies = Sequence[int]
"""One number a row; two rows with the same number say the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """Row ``row`` of ``flight`` carries the ask; a lease that waits for its first answer has no flight.

    ``pays`` is false where another ask caused the call.
    """

    flight: Any
    row: int
    body: int
    pays: bool


Ended = tuple[tuple[int, ...], tuple[int, ...], bytes]
"""Ask ids, their bodies, and the serialised AnswerBatch that holds exactly these rows, in this order.

A plain tuple of plain values on purpose: the collector stops tracking it.
"""


@dataclass(slots=True, eq=False)
class Owner:
    """The asks of one agent of one tenant."""

    tenant: str
    agent: str
    number: int
    known: dict[int, Running | Ended] = field(default_factory=dict)
    reported: set[int] = field(default_factory=set)  # ended asks whose agent has told what became of them
    holders: int = 0  # sessions and calls that use it now

    def all_new(self, ask_ids: Sequence[int]) -> bool:
        return self.known.keys().isdisjoint(ask_ids)


@dataclass(slots=True)
class _Kept:
    """Ended asks in the order they ended: (expiry, owner number, ask ids)."""

    order: deque[tuple[float, int, tuple[int, ...]]] = field(default_factory=deque)
    rows: int = 0


class IdentityTable:
    """All owners. Times are seconds on the broker's clock."""

    def __init__(self, ttl_s: float, max_rows: int) -> None:
        self._ttl_s = ttl_s
        self._max_rows = max_rows
        self._owners: dict[tuple[str, str], Owner] = {}
        self._by_number: dict[int, Owner] = {}
        self._next_number = 0
        self._free = _Kept()
        self._paid = _Kept()

    @property
    def owners(self) -> int:
        return len(self._owners)

    @property
    def ended_rows(self) -> int:
        return self._free.rows + self._paid.rows

    def hold(self, tenant: str, agent: str) -> Owner:
        """The owner, kept at least until it is let go as often as it was held."""
        owner = self._owners.get((tenant, agent))
        if owner is None:
            owner = Owner(tenant, agent, self._next_number)
            self._next_number += 1
            self._owners[tenant, agent] = self._by_number[owner.number] = owner
        owner.holders += 1
        return owner

    def let_go(self, owner: Owner) -> None:
        owner.holders -= 1
        self._forget_idle(owner)

    def started(self, owner: Owner, ask_id: int, running: Running) -> None:
        owner.known[ask_id] = running

    def failed(self, owner: Owner, ask_ids: Sequence[int], flight: Any) -> None:
        """The flight that carried these asks came to nothing."""
        for ask_id in ask_ids:
            known = owner.known.get(ask_id)
            if isinstance(known, Running) and known.flight is flight:
                del owner.known[ask_id]
        self._forget_idle(owner)

    def ended(
        self, owner: Owner, ask_ids: Sequence[int], bodies: Bodies, answer: bytes, now: float, paid: bool
    ) -> None:
        ids = tuple(ask_ids)
        record: Ended = (ids, tuple(bodies), answer)
        owner.known.update(zip(ids, repeat(record)))
        kept = self._paid if paid else self._free
        kept.order.append((now + self._ttl_s, owner.number, ids))
        kept.rows += len(ids)
        self.sweep(now)

    def sweep(self, now: float) -> None:
        """Forget what has been kept long enough."""
        for kept in (self._free, self._paid):
            while kept.order and (kept.order[0][0] <= now or kept.rows > self._max_rows):
                _, number, ids = kept.order.popleft()
                kept.rows -= len(ids)
                self._forget(self._by_number[number], ids)

    def _forget(self, owner: Owner, ids: tuple[int, ...]) -> None:
        for ask_id in ids:
            record = owner.known.get(ask_id)
            if isinstance(record, tuple) and record[0] == ids:
                del owner.known[ask_id]
                owner.reported.discard(ask_id)
        self._forget_idle(owner)

    def _forget_idle(self, owner: Owner) -> None:
        if not owner.holders and not owner.known:
            self._owners.pop((owner.tenant, owner.agent), None)
            self._by_number.pop(owner.number, None)


def check_agent(agent: str) -> None:
    """Raises InvalidRequest for no name and for a long one: names are kept as long as what was asked."""
    if not agent.strip():
        raise InvalidRequest("agent: must not be empty", "MISSING_FIELD", "agent")
    if len(agent) > MAX_AGENT:
        raise InvalidRequest(f"agent: is longer than {MAX_AGENT} characters", "INVALID_VALUE", "agent")


def bodies_of(query: Query) -> list[int]:
    """A number for what each row says, the same however rows are batched.

    Left out is what may differ between an ask and its retry: the clocks, runway, delay and time stamps. Keyed
    by the interpreter's random seed, so that only this process can compare two of them.
    """
    rows = query.rows
    tensors = [query.observations[name] for name in sorted(query.observations)]
    columns: list[Iterable[Any]] = [query.lanes, query.episodes, query.steps]
    if query.context or query.history or query.sim_state or query.prefix:
        tensors += _rare_tensors(query)
        columns += [[_stamp(prefix.actions) for prefix in query.prefix]] if query.prefix else []
    shared = hash((options_body(query.options), *((array.dtype, array.shape[1:]) for array in tensors)))
    columns += [_rows_of(array, rows) for array in tensors]
    return list(map(hash, zip(repeat(shared, rows), *columns, strict=True)))


def options_body(options: AskOptions) -> int:
    goal = options.goal
    tensors = tuple((name, *_stamp(goal.tensors[name])) for name in sorted(goal.tensors))
    return hash(
        (
            options.provider_id,
            options.kinds,
            options.mode,
            options.max_price_usd,
            options.hold_steps,
            options.max_age_steps,
            goal.goal_id,
            goal.text,
            tensors,
        )
    )


def _rare_tensors(query: Query) -> list[np.ndarray]:
    named = [tensors[name] for tensors in (query.context, query.history) for name in sorted(tensors)]
    return named if query.sim_state is None else [*named, query.sim_state.state]


def _rows_of(array: np.ndarray, rows: int) -> list[bytes]:
    """Each row's bytes."""
    if rows == 1:
        return [array.tobytes()]
    size = array.nbytes // rows
    if not size:
        return [b""] * rows
    as_bytes: list[bytes] = np.ascontiguousarray(array).reshape(rows, -1).view(f"V{size}").ravel().tolist()
    return as_bytes


def _stamp(array: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, array.tobytes()
