"""The leases that one session holds: their rows are checked here and go to their sources together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from broker.asks.asking import Asking
from broker.errors import BrokerError
from broker.leases.lease import Lease, lease_is_over
from broker.leases.leasing import Leasing
from protos.types import AskOutcome, LeaseRows, Query

Refuse = Callable[[BrokerError, int], None]
"""(error, row): a row that cannot be served."""


@dataclass(slots=True, eq=False)
class HeldLeases:
    leasing: Leasing
    by_ask: dict[int, tuple[Asking, Lease]] = field(default_factory=dict)

    def add(self, asking: Asking, lease: Lease) -> None:
        self.by_ask[lease.ask_id] = (asking, lease)

    def serve(self, rows: LeaseRows, received_at: float, refuse: Refuse) -> None:
        """Answer one step of each row's lease; rows of the same source and goal are one call."""
        groups: dict[tuple[str, int], list[tuple[int, Asking, Lease]]] = {}
        for row, ask_id in enumerate(rows.ask_ids):
            try:
                asking, lease = self._open(ask_id)
                lease.take(rows.lanes[row], rows.steps[row], received_at)
            except BrokerError as error:
                refuse(error, row)
                continue
            place = (lease.provider_id, id(lease.options.goal))
            groups.setdefault(place, []).append((row, asking, lease))
        for group in groups.values():
            self._serve(rows, group, received_at)

    def cancel(self, ask_id: int) -> None:
        held = self.by_ask.get(ask_id)
        if held is not None:
            self._end(*held, AskOutcome.CANCELLED)

    def end_lane(self, lane: int) -> None:
        """Reset, fault, takeover, pause or a new goal: the lane's leases and their billing stop."""
        for asking, lease in list(self.by_ask.values()):
            if lease.lane == lane:
                self._end(asking, lease, AskOutcome.CANCELLED)

    def end_all(self, outcome: AskOutcome) -> None:
        for asking, lease in list(self.by_ask.values()):
            self._end(asking, lease, outcome)

    def forget(self, lease: Lease) -> None:
        self.by_ask.pop(lease.ask_id, None)

    def _end(self, asking: Asking, lease: Lease, outcome: AskOutcome) -> None:
        self.leasing.end(asking, lease, outcome)

    def _open(self, ask_id: int) -> tuple[Asking, Lease]:
        held = self.by_ask.get(ask_id)
        if held is None or held[1].ended:
            raise lease_is_over()
        return held

    def _serve(self, rows: LeaseRows, group: Sequence[tuple[int, Asking, Lease]], received_at: float) -> None:
        index = [row for row, _, _ in group]
        leases = [lease for _, _, lease in group]
        opener = group[0][1]
        query = _query(rows, index, leases)
        deadlines = self.leasing.deadlines(received_at, leases[0].options, opener.caller.task)
        step = Asking(opener.caller, query, (), received_at, opener.sink, deadlines=deadlines)
        self.leasing.serve(step, leases)


def _query(rows: LeaseRows, index: Sequence[int], leases: Sequence[Lease]) -> Query:
    """What the source is asked: each lease's own step, under the terms it was opened with."""
    whole = len(index) == len(rows.ask_ids)
    return Query(
        options=leases[0].options,
        lanes=[lease.lane for lease in leases],
        ask_ids=[lease.ask_id for lease in leases],
        episodes=[lease.episode for lease in leases],
        steps=[rows.steps[row] for row in index],
        lane_generations=[lease.lane_generation for lease in leases],
        observations=rows.observations
        if whole
        else {name: tensor[index] for name, tensor in rows.observations.items()},
        obs_time_ns=[rows.obs_time_ns[row] for row in index] if rows.obs_time_ns else (),
    )
