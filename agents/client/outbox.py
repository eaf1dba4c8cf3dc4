"""What waits to be sent, packed so that everything waiting when a write completes goes as one message.

A message's parts take effect in the order of its fields (ends, starts, events, cancels, asks, lease rows), so
a part that must follow a later field's part of the same lane opens the next message. Rows whose options are
equal travel in one batch. Pure: nothing is awaited here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import AskOptions, LaneEvent, LeaseRows, Outcome, Query, Tensors

ROW_OVERHEAD_BYTES = 96
"""Bytes of a row's columns, an upper estimate."""


class Part(IntEnum):
    """In the order in which a message's parts take effect. Asks and lease rows of one lane do not meet."""

    END = 0
    START = 1
    EVENT = 2
    CANCEL = 3
    ROWS = 4


@dataclass(slots=True)
class _Message:
    """One message in the making."""

    fixed: pb.SessionRequest = field(default_factory=pb.SessionRequest)
    asks: list[Query] = field(default_factory=list)
    leases: list[LeaseRows] = field(default_factory=list)
    reached: dict[int, int] = field(default_factory=dict)  # the highest part of each lane
    rows: int = 0
    size: int = 0


class Outbox:
    """`max_rows` and `max_bytes` bound one message; both come from the broker's welcome."""

    def __init__(self, max_rows: int = 1024, max_bytes: int = 4_194_304) -> None:
        self.max_rows = max_rows
        self.max_bytes = max_bytes
        self._messages: deque[_Message] = deque()

    def __bool__(self) -> bool:
        return bool(self._messages)

    def clear(self) -> None:
        self._messages.clear()

    def end_episode(self, lane: int, episode: int, lane_generation: int, truncated: bool) -> None:
        self._open(lane, Part.END).fixed.episode_ends.add(
            lane=lane, episode=episode, lane_generation=lane_generation, truncated=truncated
        )

    def start_episode(self, lane: int, episode: int, lane_generation: int) -> None:
        self._open(lane, Part.START).fixed.episode_starts.add(
            lane=lane, episode=episode, lane_generation=lane_generation
        )

    def lane_event(self, event: LaneEvent) -> None:
        self._open(event.lane, Part.EVENT).fixed.lane_events.append(codec.lane_event_to_proto(event))

    def cancel(self, lane: int, ask_id: int) -> None:
        self._open(lane, Part.CANCEL).fixed.cancels.add(lane=lane, ask_id=ask_id)

    def outcome(self, outcome: Outcome) -> None:
        """Reports may be late, so they keep no order with the rest."""
        message = self._messages[-1] if self._messages else self._append()
        message.fixed.outcomes.append(codec.outcome_to_proto(outcome))

    def ask(self, query: Query) -> None:
        """Raises ValueError when one row alone is larger than a message may be."""
        size = _bytes(query)
        if query.rows <= self.max_rows and size <= self.max_bytes:
            self._rows(query.lanes, query.rows, size).asks.append(query)
            return
        for piece in self._pieces(query, size):
            self._rows(piece.lanes, piece.rows, _bytes(piece)).asks.append(piece)

    def lease_rows(self, rows: LeaseRows) -> None:
        size = len(rows.lanes) * ROW_OVERHEAD_BYTES + sum(
            value.nbytes for value in rows.observations.values()
        )
        self._rows(rows.lanes, len(rows.lanes), size).leases.append(rows)

    def take(self) -> pb.SessionRequest | None:
        """The next message, or None when nothing waits."""
        if not self._messages:
            return None
        message = self._messages.popleft()
        request = message.fixed
        for query in _merge_asks(message.asks):
            codec.write_query(query, request.asks.add())
        for rows in _merge_leases(message.leases):
            request.lease_rows.append(codec.lease_rows_to_proto(rows))
        return request

    def _append(self) -> _Message:
        message = _Message()
        self._messages.append(message)
        return message

    def _open(self, lane: int, part: Part) -> _Message:
        message = self._messages[-1] if self._messages else self._append()
        if message.reached.get(lane, -1) > part or _repeats(message, lane, part):
            message = self._append()
        message.reached[lane] = part
        return message

    def _rows(self, lanes: Sequence[int], rows: int, size: int) -> _Message:
        message = self._messages[-1] if self._messages else self._append()
        if message.rows and (message.rows + rows > self.max_rows or message.size + size > self.max_bytes):
            message = self._append()
        message.rows += rows
        message.size += size
        message.reached.update(dict.fromkeys(lanes, Part.ROWS))
        return message

    def _pieces(self, query: Query, size: int) -> Iterable[Query]:
        per_row = -(-size // query.rows)
        if per_row > self.max_bytes:
            raise ValueError(
                f"one row of this ask takes {per_row} bytes; a message may have {self.max_bytes}"
            )
        most = min(self.max_rows, max(1, self.max_bytes // per_row))
        starts = range(0, query.rows, most)
        return [query.take(range(start, min(start + most, query.rows))) for start in starts]


def _repeats(message: _Message, lane: int, part: Part) -> bool:
    """A lane's second end or start needs a message of its own, because all ends come before all starts."""
    return part in (Part.END, Part.START) and message.reached.get(lane) == part


def _bytes(query: Query) -> int:
    size = query.rows * ROW_OVERHEAD_BYTES
    for group in (query.observations, query.context, query.history):
        for value in group.values():
            size += value.nbytes
    for one in query.prefix:
        size += one.actions.nbytes
    return size if query.sim_state is None else size + query.sim_state.state.nbytes


def _same_options(a: AskOptions, b: AskOptions) -> bool:
    """Goals hold arrays, so they are the same only as objects."""
    if a is b:
        return True
    return a.goal is b.goal and replace(a, goal=b.goal) == b


def _alike(a: Tensors, b: Tensors) -> bool:
    if a.keys() != b.keys():
        return False
    return all(a[key].dtype == b[key].dtype and a[key].shape[1:] == b[key].shape[1:] for key in a)


def _joinable(a: Query, b: Query) -> bool:
    columns = (
        "lane_generations",
        "prefix",
        "expected_delay_steps",
        "runway_steps",
        "obs_time_ns",
        "value_at_stake_usd",
    )
    return (
        _same_options(a.options, b.options)
        and a.sim_state is None
        and b.sim_state is None
        and all(bool(getattr(a, name)) == bool(getattr(b, name)) for name in columns)
        and _alike(a.observations, b.observations)
        and _alike(a.context, b.context)
        and _alike(a.history, b.history)
    )


def _merge_asks(queries: list[Query]) -> list[Query]:
    if len(queries) < 2:
        return queries
    groups: list[list[Query]] = []
    for query in queries:
        group = next((group for group in groups if _joinable(group[0], query)), None)
        if group is None:
            groups.append([query])
        else:
            group.append(query)
    return [group[0] if len(group) == 1 else _concatenated(group) for group in groups]


def _concatenated(group: list[Query]) -> Query:
    return replace(
        group[0],
        lanes=_chain([query.lanes for query in group]),
        ask_ids=_chain([query.ask_ids for query in group]),
        episodes=_chain([query.episodes for query in group]),
        steps=_chain([query.steps for query in group]),
        lane_generations=_chain([query.lane_generations for query in group]),
        observations=_stack([query.observations for query in group]),
        context=_stack([query.context for query in group]),
        history=_stack([query.history for query in group]),
        prefix=[one for query in group for one in query.prefix],
        expected_delay_steps=_chain([query.expected_delay_steps for query in group]),
        runway_steps=_chain([query.runway_steps for query in group]),
        obs_time_ns=_chain([query.obs_time_ns for query in group]),
        value_at_stake_usd=[one for query in group for one in query.value_at_stake_usd],
    )


def _merge_leases(batches: list[LeaseRows]) -> list[LeaseRows]:
    groups: list[list[LeaseRows]] = []
    for batch in batches:
        if groups and _alike(groups[-1][0].observations, batch.observations):
            groups[-1].append(batch)
        else:
            groups.append([batch])
    return [group[0] if len(group) == 1 else _concatenated_leases(group) for group in groups]


def _concatenated_leases(group: list[LeaseRows]) -> LeaseRows:
    return LeaseRows(
        lanes=_chain([rows.lanes for rows in group]),
        ask_ids=_chain([rows.ask_ids for rows in group]),
        steps=_chain([rows.steps for rows in group]),
        observations=_stack([rows.observations for rows in group]),
        obs_time_ns=_chain([rows.obs_time_ns for rows in group]),
    )


def _chain(columns: Sequence[Sequence[int]]) -> list[int]:
    return [value for column in columns for value in column]


def _stack(tensors: Sequence[Tensors]) -> Tensors:
    return {name: np.concatenate([one[name] for one in tensors]) for name in tensors[0]}
