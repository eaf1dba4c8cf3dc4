"""One process's session: what its messages mean, and where its answers go. Knows nothing of gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from broker.asks.admission import Admission
from broker.asks.asking import Asking, Caller
from broker.asks.failures import Addresses, failure, from_contract
from broker.asks.identity import bodies_of
from broker.asks.reports import Reports
from broker.clock import Clock
from broker.errors import BrokerError, InvalidRequest, Shed
from broker.events import AskEnded, AskReceived, Event, InvalidInput, SessionClosed
from broker.leases.held import HeldLeases
from broker.leases.lease import Lease, idle_s
from broker.service import Service
from broker.sessions.lanes import Lane, Lanes, unknown_lane
from broker.sessions.outbox import Outbox
from broker.sessions.row_faults import non_finite_rows, take_rows
from broker.sessions.schema import Schema
from protos import codec
from protos.codec import ContractError
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import Answer, AskOutcome, LaneEventKind, Query

CREDIT_RETRY_MS = 50  # when a caller without credits may look again


@dataclass(frozen=True, slots=True)
class SessionTerms:
    """What a session may do, agreed in its welcome."""

    generation: int
    credits: int
    max_rows: int


class Session:
    """A :class:`broker.asks.asking.Sink` for its own asks. Every method returns at once."""

    def __init__(
        self,
        terms: SessionTerms,
        caller: Caller,
        lanes: Lanes,
        schema: Schema,
        outbox: Outbox,
        service: Service,
        reports: Reports,
        admission: Admission,
        clock: Clock,
        emit: Callable[[Event], None],
    ) -> None:
        self.terms = terms
        self.caller = caller
        self.lanes = lanes
        self.outbox = outbox
        self.closed = False
        self._schema = schema
        self._service = service
        self._reports = reports
        self._admission = admission
        self._clock = clock
        self._emit = emit
        self._credits_left = terms.credits
        self._seq = 1
        self._idle: asyncio.Future[None] | None = None
        self._askings: set[Asking] = set()
        self._held = HeldLeases(service.leasing)
        self._parts = self._handlers()

    @property
    def in_flight(self) -> int:
        """Asks that have not ended, leases included."""
        return self.terms.credits - self._credits_left

    # ------------------------------------------------------------ what comes up

    def receive(self, request: pb.SessionRequest) -> None:
        """Handle one message's parts in the order of its fields.

        Raises InvalidRequest for a breach of the protocol, which ends the stream; all else is told in it.
        """
        for field, part in request.ListFields():  # only what is there, in the order of the fields
            self._parts[field.number](part)

    def _handlers(self) -> dict[int, Callable[[Any], None]]:
        """What takes each field of a SessionRequest, by its number."""

        def each(handle: Callable[[Any], None]) -> Callable[[Any], None]:
            def take(parts: Sequence[Any]) -> None:
                for part in parts:
                    handle(part)

            return take

        handlers: dict[str, Callable[[Any], None]] = {
            "hello": self._second_hello,
            "episode_ends": each(self._episode_end),
            "episode_starts": each(self._episode_start),
            "lane_events": each(self._lane_event),
            "cancels": each(self._cancel),
            "asks": each(self._ask),
            "lease_rows": each(self._lease_rows),
            "outcomes": self._outcomes,
        }
        fields = pb.SessionRequest.DESCRIPTOR.fields_by_name
        return {fields[name].number: handler for name, handler in handlers.items()}

    def _second_hello(self, hello: pb.Hello) -> None:
        raise InvalidRequest("hello: only in the first message", "SECOND_HELLO", "hello")

    def _outcomes(self, outcomes: Sequence[pb.Outcome]) -> None:
        self._reports.take(self.caller.owner, outcomes)

    async def finished(self) -> None:
        """Wait until every ask has ended."""
        while self.in_flight and not self.closed:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle

    def end(self, why: str) -> None:
        """Nobody is there any more: asks are withdrawn, their calls linger; leases end."""
        if self.closed:
            return
        self.closed = True
        for asking in list(self._askings):
            self._service.withdraw(asking)
        self._held.end_all(AskOutcome.CANCELLED)
        self.outbox.close()
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)
        self._emit(SessionClosed(self.caller.tenant, len(self.lanes), why))

    # ------------------------------------------------------------ episodes and lanes

    def _episode_end(self, end: pb.EpisodeEnd) -> None:
        lane = self._lane(end.lane)
        refused = lane.end(end.episode, end.lane_generation) if lane else None
        if refused:
            self._tell(refused, end.lane, end.episode)
        else:
            self._held.end_lane(end.lane)

    def _episode_start(self, start: pb.EpisodeStart) -> None:
        lane = self._lane(start.lane)
        refused = lane.admit(start.episode, start.lane_generation) if lane else None
        if refused:
            self._tell(refused, start.lane, start.episode)

    def _lane_event(self, message: pb.LaneEvent) -> None:
        try:
            event = codec.lane_event_from_proto(message)
        except ContractError as error:
            self._tell(from_contract(error), message.lane)
            return
        lane = self._lane(event.lane)
        if lane is None:
            return
        lane.raise_to(event.lane_generation)
        if event.kind is not LaneEventKind.ACTIVE:
            self._held.end_lane(event.lane)

    def _lane(self, number: int) -> Lane | None:
        lane = self.lanes.by_number.get(number)
        if lane is None:
            self._tell(unknown_lane(number), number)
        return lane

    def _tell(self, error: BrokerError, lane: int, episode: int = 0) -> None:
        """A failure that is about no ask."""
        self._emit(InvalidInput(error.reason_or_default))
        self.outbox.failure(failure(error, lane, 0, episode, ended=False))

    def _cancel(self, cancel: pb.Cancel) -> None:
        """One that is over already needs no word: its answer is on its way."""
        ask_id = cancel.ask_id
        self._held.cancel(ask_id)
        for asking in list(self._askings):
            if ask_id in asking.query.ask_ids:
                self._service.cancel(asking, list(asking.query.ask_ids).index(ask_id))

    # ------------------------------------------------------------ asks

    def _ask(self, batch: pb.AskBatch) -> None:
        received_at, rows = self._clock.now(), len(batch.ask_id)
        self._emit(AskReceived(self.caller.tenant, self.caller.task, rows))
        self._credits_left -= rows
        refusal = self._admission.refusal()
        if refusal is not None:
            self._refuse(refusal, Addresses.of(batch), received_at)
            return
        query = self._decoded(batch, received_at)
        if query is not None:
            query = self._admitted(query, received_at)
        if query is None:
            return
        asking = Asking(self.caller, query, bodies_of(query), received_at, self)
        self._service.ask(asking)
        if asking.open:
            self._askings.add(asking)

    def _decoded(self, batch: pb.AskBatch, received_at: float) -> Query | None:
        """The query; None, and every faulty row told, where nothing of it is sound."""
        try:
            query = codec.query_from_proto(batch, self.terms.max_rows)
            self._schema.check(query)
            return query
        except ContractError as error:
            return self._sound_rows(batch, error, received_at)
        except BrokerError as error:
            self._refuse(error, Addresses.of(batch), received_at)
            return None

    def _sound_rows(self, batch: pb.AskBatch, error: ContractError, received_at: float) -> Query | None:
        """A number that is not finite costs its own row only; any other fault costs the batch."""
        faults = non_finite_rows(batch) if error.reason == "NON_FINITE" else {}
        addresses = Addresses.of(batch)
        if not faults:
            self._refuse(from_contract(error), addresses, received_at)
            return None
        for row, fault in faults.items():
            self._refuse(from_contract(fault), addresses.only(row), received_at)
        sound = [row for row in range(len(batch.ask_id)) if row not in faults]
        return self._decoded(take_rows(batch, sound), received_at) if sound else None

    def _admitted(self, query: Query, received_at: float) -> Query | None:
        """The rows whose lane, episode, generation and credit are in order; the others are told why not."""
        generations = query.lane_generations
        if not generations:
            generations = [self._generation(lane) for lane in query.lanes]
            query = replace(query, lane_generations=generations)
        refused: dict[int, BrokerError] = {}
        by_number = self.lanes.by_number
        columns = zip(query.lanes, query.episodes, generations, strict=True)
        for row, (number, episode, generation) in enumerate(columns):
            lane = by_number.get(number)
            if lane is not None and lane.episode == episode and lane.generation == generation:
                continue  # nearly all of them
            error = unknown_lane(number) if lane is None else lane.admit(episode, generation)
            if error is not None:
                refused[row] = error
        for row in range(max(0, query.rows + min(0, self._credits_left)), query.rows):
            refused[row] = Shed(
                "no credit was left for this ask", "NO_CREDIT", retry_after_ms=CREDIT_RETRY_MS
            )
        if not refused:
            return query
        addresses = Addresses(query.lanes, query.ask_ids, query.episodes, query.steps)
        for row, error in refused.items():
            self._refuse(error, addresses.only(row), received_at)
        left = [row for row in range(query.rows) if row not in refused]
        return query.take(left) if left else None

    def _generation(self, number: int) -> int:
        lane = self.lanes.by_number.get(number)
        return 0 if lane is None else lane.generation

    def _refuse(self, error: BrokerError, addresses: Addresses, received_at: float) -> None:
        """Rows that never became an asking: told, counted, and their credits given back."""
        if isinstance(error, InvalidRequest):
            self._emit(InvalidInput(error.reason_or_default))
        for address in addresses:
            self.outbox.failure(failure(error, *address))
        seconds, rows = self._clock.now() - received_at, len(addresses)
        self._emit(AskEnded(self.caller.tenant, self.caller.task, error.outcome, "", seconds, rows))
        self._give_credits(rows)

    # ------------------------------------------------------------ leases

    def _lease_rows(self, message: pb.LeaseRows) -> None:
        received_at = self._clock.now()
        try:
            rows = codec.lease_rows_from_proto(message, self.terms.max_rows)
            self._schema.check_observations(rows.observations)
        except (ContractError, BrokerError) as error:
            refused = from_contract(error) if isinstance(error, ContractError) else error
            for row in range(min(len(message.ask_id), len(message.lane), len(message.step))):
                self._refuse_step(refused, message.lane[row], message.ask_id[row], message.step[row])
            return
        self._held.serve(
            rows,
            received_at,
            lambda error, row: self._refuse_step(error, rows.lanes[row], rows.ask_ids[row], rows.steps[row]),
        )

    def _refuse_step(self, error: BrokerError, lane: int, ask_id: int, step: int) -> None:
        """A step of a lease that is not served. The lease goes on, if there is one."""
        self._emit(InvalidInput(error.reason_or_default))
        self.outbox.failure(failure(error, lane, ask_id, step=step, ended=False))

    # ------------------------------------------------------------ what goes down

    def wanted(self, asking: Asking, rows: Sequence[int]) -> Sequence[int]:
        query = asking.query
        return [
            row
            for row in rows
            if self.lanes.by_number[query.lanes[row]].current(
                query.episodes[row], query.lane_generations[row]
            )
        ]

    def answer(self, asking: Asking, answer: Answer) -> bytes:
        message = codec.answer_to_proto(answer)
        message.session_generation = self.terms.generation
        first, self._seq = self._seq, self._seq + answer.rows
        message.seq.extend(range(first, self._seq))
        data = message.SerializeToString()
        self.outbox.answer(data)
        return data

    def fail(self, asking: Asking, rows: Sequence[int], error: BrokerError) -> None:
        query = asking.query
        addresses = Addresses(query.lanes, query.ask_ids, query.episodes, query.steps)
        for row in rows:
            self.outbox.failure(failure(error, *addresses.at(row)))

    def ended(self, asking: Asking, rows: int) -> None:
        if not asking.open:
            self._askings.discard(asking)
        self._give_credits(rows)

    def lease(self, asking: Asking, lease: Lease) -> None:
        self._held.add(asking, lease)

    def lease_ended(self, lease: Lease) -> None:
        self._held.forget(lease)

    def idle_s(self, lane: int) -> float:
        return idle_s(self.lanes.by_number[lane].spec.period_us)

    def _give_credits(self, count: int) -> None:
        self._credits_left += count
        self.outbox.credits(count)
        if self._idle is not None and not self.in_flight and not self._idle.done():
            self._idle.set_result(None)
