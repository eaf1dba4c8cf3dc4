"""THE STORY: one query from key to final answer.

    known?   the same ask, asked again, joins its running call or gets its kept answer
    served?  what this broker does not do is refused by name
    plan     who is to be asked, in order; a lease goes its own way (:mod:`broker.leases.leasing`)
    cached?  rows that the cache holds are answered and leave
    now      a source that never waits answers the rest at once
    flight   else the rest boards calls that others started, or one of its own
    landing  a call's end is kept, remembered, and answers whoever still waits for it
    clocks   the first tells a waiting caller that nothing is there yet, the second ends the ask

Only the flight waits. The parts never call each other; results go to the asking's sink.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from broker.accounts import Accounts
from broker.asks import answering
from broker.asks.answering import Landing
from broker.asks.asking import Asking
from broker.asks.identity import IdentityTable, Running
from broker.asks.results import Results
from broker.asks.shared_answers import SharedAnswers
from broker.asks.unserved import refuse_unserved
from broker.calling.interface import Called
from broker.calling.interface import Caller as PlanCaller
from broker.clock import Clock
from broker.deadline import ClockRules, Deadlines, session_deadlines, unary_deadlines
from broker.errors import BrokerError, Cancelled, DeadlineReached, InvalidRequest, PreconditionFailed
from broker.leases.lease import no_lease
from broker.leases.leasing import Leasing
from broker.providers.interface import Call
from broker.routing.interface import Plan
from broker.setup.catalogue import Catalogue, Source
from broker.singleflight import Flight, Flights, Seat
from broker.timers.alarms import Alarms
from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import Answer, AskMode, AskOptions, AskOutcome, CacheStatus, NoneReason

RESERVE_S = 0.05
RESERVE_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class ServiceRules:
    """What the operator allows every query."""

    clocks: ClockRules
    max_hold_steps: int


@dataclass(slots=True, eq=False)
class Service:
    """``catalogue`` is replaced as a whole when the configuration is; flights under way end as they began."""

    rules: ServiceRules
    catalogue: Catalogue
    clock: Clock
    alarms: Alarms
    accounts: Accounts
    identity: IdentityTable
    flights: Flights
    shared: SharedAnswers
    caller: PlanCaller
    leasing: Leasing
    results: Results

    # ------------------------------------------------------------ asking

    def ask(self, asking: Asking) -> None:
        """Answer what can be answered now and see to the rest. What fails is told to the sink, not raised."""
        asking.open.update(range(asking.query.rows))
        try:
            asking.deadlines = self._deadlines(asking)
            rows: Sequence[int] = range(asking.query.rows)
            while rows:
                new, rows = self._without_known(asking, rows)
                if new:
                    refuse_unserved(asking.query.options, self.rules.max_hold_steps)
                    self._answer(asking, new)
        except BrokerError as error:
            waiting = [row for row in asking.open if row not in asking.seated]
            self.results.fail(asking, waiting, error)

    def _answer(self, asking: Asking, rows: Sequence[int]) -> None:
        task, options = asking.caller.task, asking.query.options
        plan = self.catalogue.plan(task, options, asking.deadlines.final_at - asking.received_at)
        if options.hold_steps:
            self._lease(asking, rows, plan)
            return
        source = self.catalogue.sources[plan.attempts[0].provider_id] if plan.attempts else None
        keys: Sequence[bytes | None] = ()
        if source is not None and source.keyed:
            rows, keys = self._without_cached(asking, rows, source)
        if options.mode is AskMode.CACHE_ONLY:
            self.results.nothing(asking, rows, NoneReason.NO_GUIDANCE)
        elif rows and (keys or not self._answer_now(asking, rows, plan)):
            self._fly(asking, rows, keys, plan, source)

    def step_deadlines(self, received_at: float, options: AskOptions, task: str) -> Deadlines:
        """The clocks of one step of a lease."""
        cap_ms = self.catalogue.final_cap_ms(task, options)
        return session_deadlines(received_at, options, self.rules.clocks, cap_ms)

    def _deadlines(self, asking: Asking) -> Deadlines:
        options, clocks = asking.query.options, self.rules.clocks
        cap_ms = self.catalogue.final_cap_ms(asking.caller.task, options)
        if asking.unary:
            return unary_deadlines(asking.received_at, options, clocks, cap_ms, asking.time_left_s)
        return session_deadlines(asking.received_at, options, clocks, cap_ms)

    # ------------------------------------------------------------ known before

    def _without_known(self, asking: Asking, rows: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """The rows that are new, and those that repeat one of them and can join it once it is on its way.

        The same ask as an earlier one joins it; another body is refused.
        """
        ask_ids, owner = asking.query.ask_ids, asking.caller.owner
        if owner.all_new(ask_ids) and len(set(ask_ids)) == len(ask_ids):
            return rows, ()
        self.identity.sweep(self.clock.now())
        fresh: dict[int, int] = {}
        repeated = []
        for row in rows:
            ask_id = ask_ids[row]
            known = owner.known.get(ask_id)
            if isinstance(known, Running) and known.flight is not None and known.flight.abandoned:
                known = None
            if known is None and ask_id not in fresh:
                fresh[ask_id] = row
            elif known is None and asking.bodies[fresh[ask_id]] == asking.bodies[row]:
                repeated.append(row)
            elif isinstance(known, Running) and known.body == asking.bodies[row]:
                self._rejoin(asking, row, known)
            elif isinstance(known, tuple) and known[1][known[0].index(ask_id)] == asking.bodies[row]:
                self._repeat(asking, row, known[2])
            else:
                self.results.fail(asking, [row], _id_reused())
        self._set_clocks(asking)
        return list(fresh.values()), repeated

    def _rejoin(self, asking: Asking, row: int, running: Running) -> None:
        if running.flight is None:
            message = "ask_id: a lease of this id is open; send its rows, or cancel it first"
            self.results.fail(asking, [row], PreconditionFailed(message, "LEASE_OPEN", "ask_id"))
            return
        self._sit(asking, running.flight, {row: running.row}, running.pays)

    def _repeat(self, asking: Asking, row: int, data: bytes) -> None:
        kept = codec.answer_from_proto(pb.AnswerBatch.FromString(data))
        at = list(kept.ask_ids).index(asking.query.ask_ids[row])
        answer = answering.again(asking, row, kept, at)
        outcome = AskOutcome.ANSWERED if answer.guidance is not None else AskOutcome.NONE
        self.results.answer(asking, [row], answer, outcome)

    # ------------------------------------------------------------ cached

    def _without_cached(
        self, asking: Asking, rows: Sequence[int], source: Source
    ) -> tuple[Sequence[int], Sequence[bytes | None]]:
        """The rows that the cache does not hold, with their keys."""
        caller = asking.caller
        keys = self.shared.keys(caller.tenant, caller.task, source, asking.query.take(rows))
        found = self.shared.find(caller.tenant, source, keys)
        hits = [(row, hit) for row, hit in zip(rows, found, strict=True) if hit is not None]
        for row, hit in hits:
            answer = answering.from_cache(asking, row, hit, self.clock.now())
            data = self.results.answer(asking, [row], answer, AskOutcome.CACHED)
            self._remember(asking, [row], data, paid=False)
        if hits:
            self._save(caller.tenant, source, len(hits))
        left = [(row, key) for row, key, hit in zip(rows, keys, found, strict=True) if hit is None]
        return [row for row, _ in left], [key for _, key in left]

    def _save(self, tenant: str, source: Source, rows: int) -> None:
        """Note what rows would have cost that nobody was charged for."""
        usd = source.info.price.estimate(0) * rows
        if usd:
            self.accounts.saved(tenant, source.info.provider_id, usd, rows)

    # ------------------------------------------------------------ now

    def _answer_now(self, asking: Asking, rows: Sequence[int], plan: Plan) -> bool:
        """Whether a source answered without waiting. Raises what the attempt raised."""
        query, caller = asking.query.take(rows), asking.caller
        began_at = self.clock.now()
        call = Call(caller.tenant, caller.task, asking.deadlines.final_at)
        called = self.caller.follow_now(plan, query, call)
        if called is None:
            return False
        landing = Landing(called, query, began_at, self.clock.now())
        price = _price_each(called, len(rows))
        answer = answering.from_call(asking, rows, landing, range(len(rows)), [price] * len(rows))
        data = self.results.answer(asking, rows, answer, answering.outcome_of(called))
        self._remember(asking, rows, data, price > 0)
        return True

    def _remember(self, asking: Asking, rows: Sequence[int], data: bytes, paid: bool) -> None:
        ids, bodies = asking.query.ask_ids, asking.bodies
        if len(rows) < len(ids):
            ids, bodies = asking.ids(rows), [bodies[row] for row in rows]
        self.identity.ended(asking.caller.owner, ids, bodies, data, self.clock.now(), paid)

    # ------------------------------------------------------------ flight

    def _fly(
        self,
        asking: Asking,
        rows: Sequence[int],
        keys: Sequence[bytes | None],
        plan: Plan,
        source: Source | None,
    ) -> None:
        """Board the flights that carry these keys already; start one for the other rows."""
        coalesced = source is not None and source.coalesced and source.keyed
        own: dict[bytes | int, int] = {}  # by key where there is one
        joined: list[tuple[int, bytes]] = []
        for row, key in zip(rows, keys or [None] * len(rows), strict=True):
            if not coalesced or key is None:
                own[row] = row
            elif key in own or self.flights.find(asking.caller.tenant, key):
                joined.append((row, key))
            else:
                own[key] = row
        self._launch(asking, own, plan, source)
        for row, key in joined:
            self._join(asking, row, key, source)
        self._set_clocks(asking)

    def _launch(
        self, asking: Asking, own: Mapping[bytes | int, int], plan: Plan, source: Source | None
    ) -> None:
        """Start the call of rows that nobody else's carries; one a row where the kinds demand it."""
        groups = [[item] for item in own.items()] if source and source.row_by_row else [list(own.items())]
        for group in groups:
            if not group:
                continue
            keys = [key for key, _ in group if isinstance(key, bytes)]
            rows = [row for _, row in group]
            call = self._call(asking, source if keys else None)
            query = asking.query.take(rows)
            run = self.caller.follow(plan, query, call)
            flight = self.flights.launch(call.tenant, query, keys, call.deadline, run, self._landed)
            self._sit(asking, flight, {row: at for at, row in enumerate(rows)}, pays=True, books=True)

    def _call(self, asking: Asking, shared_source: Source | None) -> Call:
        """A call that others may join is given the source's time, not the first asker's."""
        caller, deadline = asking.caller, asking.deadlines.final_at
        if shared_source is not None:
            deadline = max(deadline, self.clock.now() + shared_source.final_cap_ms / 1000)
        return Call(caller.tenant, caller.task, deadline)

    def _join(self, asking: Asking, row: int, key: bytes, source: Source | None) -> None:
        found = self.flights.find(asking.caller.tenant, key)
        if found is not None and source is not None:
            flight, at = found
            self._sit(asking, flight, {row: at}, pays=False, books=True)

    def _sit(
        self, asking: Asking, flight: Flight, rows: dict[int, int], pays: bool, books: bool = False
    ) -> None:
        """Take a seat. ``books``: these are asks of their own, to be remembered; else a retry of one."""
        seat = Seat(asking, rows, pays)
        self.flights.board(flight, seat)
        if books:
            flight.booked.append(Seat(asking, dict(rows), pays))
        for row, at in rows.items():
            asking.seated[row] = (flight, seat)
            if books:
                running = Running(flight, at, asking.bodies[row], pays)
                self.identity.started(asking.caller.owner, asking.query.ask_ids[row], running)

    # ------------------------------------------------------------ landing

    def _landed(self, flight: Flight, result: Called | BrokerError) -> None:
        if isinstance(result, BrokerError):
            for seat in flight.booked:
                ids = seat.asking.ids(list(seat.rows))
                self.identity.failed(seat.asking.caller.owner, ids, flight)
            for seat in list(flight.seats):
                self.results.fail(seat.asking, list(seat.rows), result)
            return
        landing = Landing(result, flight.query, flight.began_at, self.clock.now())
        for seat in flight.booked:
            self._book(seat, landing)
        for seat in list(flight.seats):
            self._land(seat, landing)
        source = self.catalogue.sources.get(result.provider_id)
        if source is not None and flight.booked:
            self.shared.keep(flight.tenant, flight.booked[0].asking.caller.task, source, landing)

    def _book(self, seat: Seat, landing: Landing) -> None:
        """Remember the answer of asks that rode on a call, whether or not somebody still waits for it."""
        rows = list(seat.rows)
        answer = self._answer_of(seat, rows, landing)
        data = codec.answer_to_proto(answer).SerializeToString()
        self._remember(seat.asking, rows, data, any(answer.prices_usd))
        if not seat.pays:
            source = self.catalogue.sources.get(landing.called.provider_id)
            if source is not None:
                self._save(seat.asking.caller.tenant, source, len(rows))

    def _land(self, seat: Seat, landing: Landing) -> None:
        asking = seat.asking
        wanted = asking.sink.wanted(asking, list(seat.rows))
        self.results.drop(asking, [row for row in seat.rows if row not in wanted], "stale_generation")
        if wanted:
            answer = self._answer_of(seat, wanted, landing)
            self.results.answer(asking, wanted, answer, answering.outcome_of(landing.called))

    def _answer_of(self, seat: Seat, rows: Sequence[int], landing: Landing) -> Answer:
        price = _price_each(landing.called, landing.query.rows) if seat.pays else 0.0
        status = CacheStatus.NOT_LOOKED_UP if seat.pays else CacheStatus.COALESCED
        at = [seat.rows[row] for row in rows]
        return answering.from_call(seat.asking, rows, landing, at, [price] * len(rows), status=status)

    # ------------------------------------------------------------ clocks and cancels

    def _set_clocks(self, asking: Asking) -> None:
        if asking.alarms or not asking.seated:
            return
        first_at, final_at = asking.deadlines.first_at, asking.deadlines.final_at
        if first_at < final_at:
            asking.alarms.append(self.alarms.at(first_at, lambda: self._first_clock(asking)))
        asking.alarms.append(self.alarms.at(final_at, lambda: self._final_clock(asking)))
        if any(flight.deadline > final_at for flight, _ in asking.seated.values()):
            reserve = max(RESERVE_S, RESERVE_SHARE * (final_at - self.clock.now()))
            asking.alarms.append(self.alarms.at(final_at - reserve, lambda: self._last_resort(asking)))

    def _first_clock(self, asking: Asking) -> None:
        rows = asking.sink.wanted(asking, sorted(asking.open))
        if rows:
            self.results.pending(asking, rows)

    def _final_clock(self, asking: Asking) -> None:
        rows = sorted(asking.open)
        self._leave(asking, rows, at_once=False)
        self.results.fail(asking, rows, DeadlineReached("no answer came within the ask's final clock"))

    def _last_resort(self, asking: Asking) -> None:
        """Who waits for a shared call that outlasts his clock is given the fallback in the last moments."""
        route = self.catalogue.routes.get(asking.caller.task)
        if route is None or not route.fallback or asking.query.options.provider_id:
            return
        rows = sorted(asking.open)
        self._leave(asking, rows, at_once=False)
        own: dict[bytes | int, int] = {row: row for row in rows}
        self._launch(asking, own, Plan("last_resort", (), fallback=route.fallback), None)

    def cancel(self, asking: Asking, row: int) -> None:
        """The caller's own word: acts at once."""
        if row in asking.open:
            self._leave(asking, [row], at_once=True)
            self.results.fail(asking, [row], Cancelled("cancelled by the caller"))

    def withdraw(self, asking: Asking) -> None:
        """The caller is gone: its calls linger, since it may be back with the same asks."""
        rows = sorted(asking.open)
        self._leave(asking, rows, at_once=False)
        self.results.withdraw(asking, rows)

    def _leave(self, asking: Asking, rows: Sequence[int], at_once: bool) -> None:
        for row in rows:
            flight, seat = asking.seated.pop(row, (None, None))
            if flight is not None and seat is not None:
                self.flights.leave(flight, seat, row, at_once)

    # ------------------------------------------------------------ leases

    def _lease(self, asking: Asking, rows: Sequence[int], plan: Plan) -> None:
        if not plan.attempts:
            raise no_lease()
        source = self.catalogue.sources[plan.attempts[0].provider_id]
        self.leasing.open(asking, rows, plan, source.info.price)


def _price_each(called: Called, rows: int) -> float:
    """USD that was charged for each row of a call."""
    return called.charged_usd / rows


def _id_reused() -> InvalidRequest:
    message = "ask_id: this id was used for another question; draw a new one"
    return InvalidRequest(message, "ASK_ID_REUSED", "ask_id")
