"""From a query to the outbox: which rows may go, and what each leaves in the books."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import grpc

from agents.client.asks import OpenAsk
from agents.client.book import Book
from agents.client.errors import Status
from agents.client.intake import Intake
from agents.client.lanes import Lane
from agents.client.outbox import Outbox
from agents.client.rows import non_finite, pick
from protos.types import AskOutcome, Failure, LeaseRows, Query, Tensors


@dataclass(frozen=True, slots=True, eq=False)
class Sender:
    book: Book
    lanes: Mapping[int, Lane]
    intake: Intake
    outbox: Outbox

    def ask(self, query: Query, down: Status | None) -> bool:
        """Send what may go; the other rows end here. `down` says why there is no session, None where there
        is.
        """
        if down is not None:
            self._refuse_all(query, down)
            return False
        bad = non_finite(query.observations, query.rows)
        if bad or query.rows > self.intake.credits:
            going = self._within_credits(query, self._finite(query, bad))
            if not going:
                return False
            query = query.take(going)
        self._send(query)
        return True

    def lease_rows(
        self, wanted: Sequence[tuple[int, OpenAsk]], steps: Sequence[int], observations: Tensors
    ) -> None:
        """`wanted` pairs a row of `observations` with the lease that it goes to."""
        rows = [row for row, _ in wanted]
        self.outbox.lease_rows(
            LeaseRows(
                lanes=[ask.lane for _, ask in wanted],
                ask_ids=[ask.ask_id for _, ask in wanted],
                steps=[steps[row] for row in rows],
                observations=pick(observations, rows),
                obs_time_ns=[time.monotonic_ns()] * len(rows),
            )
        )
        self.book.counts.lease_rows_sent += len(rows)
        for row, ask in wanted:
            self.book.expect_step(ask, steps[row])

    def _send(self, query: Query) -> None:
        self.outbox.ask(query)
        self.intake.credits -= query.rows
        self.book.counts.asks_sent += query.rows
        options = query.options
        columns = zip(query.ask_ids, query.lanes, query.lane_generations, query.steps, strict=True)
        for ask_id, number, generation, step in columns:
            ask = OpenAsk(ask_id, number, generation, step, options)
            self.book.add(ask)
            lane = self.lanes[number]
            lane.speak(step)
            if options.hold_steps:
                lane.leases.append(ask)

    def _finite(self, query: Query, bad: Mapping[int, str]) -> Sequence[int]:
        for row, what in bad.items():
            self.book.counts.local_refused += 1
            failure = _failure(query, row, grpc.StatusCode.INVALID_ARGUMENT, "NON_FINITE", what)
            self.book.refuse(failure, AskOutcome.CALLER_FAULT)
        return [row for row in range(query.rows) if row not in bad]

    def _within_credits(self, query: Query, rows: Sequence[int]) -> Sequence[int]:
        credits = max(0, self.intake.credits)
        for row in rows[credits:]:
            self.book.counts.local_sheds += 1
            code, text = grpc.StatusCode.RESOURCE_EXHAUSTED, "out of credits: too many asks are in flight"
            self.book.refuse(_failure(query, row, code, "LOCAL_SHED", text), AskOutcome.SHED)
        return rows[:credits]

    def _refuse_all(self, query: Query, down: Status) -> None:
        self.book.counts.local_unavailable += query.rows
        for row in range(query.rows):
            failure = _failure(query, row, down.code, "NOT_CONNECTED", f"no session: {down.message}")
            self.book.refuse(failure, AskOutcome.UNAVAILABLE)


def _failure(query: Query, row: int, code: grpc.StatusCode, reason: str, message: str) -> Failure:
    return Failure(
        lane=query.lanes[row],
        ask_id=query.ask_ids[row],
        episode=query.episodes[row],
        step=query.steps[row],
        code=int(code.value[0]),
        reason=reason,
        message=message,
    )
