"""One lease from its opening to its end: the second story, told beside :mod:`broker.service`.

open    reserve the whole estimate; the ask's own row is the first step
serve   rows that leases of one source brought together are one call
charge  each step that was served, in one go; a step that failed costs nothing and the lease goes on
end     after the last step, or whenever the lane, the session or the clock says so; the rest is released
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from broker.accounts import Accounts
from broker.asks import answering
from broker.asks.answering import Landing
from broker.asks.asking import Asking
from broker.asks.identity import IdentityTable, Running
from broker.calling.interface import Called
from broker.calling.interface import Caller as PlanCaller
from broker.clock import Clock
from broker.deadline import Deadlines
from broker.errors import BrokerError, Cancelled, DeadlineReached, Internal, Shed
from broker.events import AnswerDropped, AskEnded, Event, LeaseStepServed
from broker.leases.lease import Lease
from broker.outcomes import AttemptOutcome
from broker.providers.interface import Call
from broker.routing.interface import Plan
from broker.timers.alarms import Alarms
from protos.types import Answer, AskOptions, AskOutcome, Price

RESERVATION_SLACK_S = 60.0


@dataclass(slots=True, eq=False)
class Leasing:
    """``caller`` asks sources without charging: what a lease costs is charged here, step by step.

    ``deadlines``: (received at, options, task) -> a step's clocks.
    """

    clock: Clock
    alarms: Alarms
    emit: Callable[[Event], None]
    accounts: Accounts
    identity: IdentityTable
    caller: PlanCaller
    deadlines: Callable[[float, AskOptions, str], Deadlines]
    tasks: set[asyncio.Task[Called]] = field(default_factory=set)

    def open(self, asking: Asking, rows: Sequence[int], plan: Plan, price: Price) -> None:
        """Open a lease for each row, as far as the budget goes, and serve the first step of all of them."""
        leases: list[Lease] = []
        served: list[int] = []
        for row in rows:
            lease = self._lease(asking, row, plan, price)
            try:
                self._reserve(asking, lease)
            except BrokerError as error:
                self._refuse(asking, row, error)
                continue
            self._start(asking, row, lease)
            leases.append(lease)
            served.append(row)
        if leases:
            asking.close_rows(served)
            step = replace(asking, query=asking.query.take(served), bodies=[asking.bodies[r] for r in served])
            self.serve(step, leases, opening=True)

    def serve(self, step: Asking, leases: Sequence[Lease], opening: bool = False) -> None:
        """Answer one step of each lease. All have the same source; row i of ``step`` is of lease i."""
        caller, plan = step.caller, leases[0].plan
        call = Call(caller.tenant, caller.task, step.deadlines.final_at)
        began_at = self.clock.now()
        try:
            called = self.caller.follow_now(plan, step.query, call)
        except BrokerError as error:
            self._failed(step, leases, opening, error)
            return
        if called is not None:
            self._served(step, leases, opening, Landing(called, step.query, began_at, self.clock.now()))
            return
        task = asyncio.get_running_loop().create_task(self.caller.follow(plan, step.query, call))
        self.tasks.add(task)
        task.add_done_callback(lambda done: self._landed(step, leases, opening, began_at, done))

    def end(self, asking: Asking, lease: Lease, outcome: AskOutcome) -> None:
        """Release what is left of the reservation and give the credit back. Ending twice changes nothing."""
        if lease.ended:
            return
        lease.ended = True
        if lease.reservation is not None:
            self.accounts.settle(lease.reservation, 0.0)
        self._count(asking, lease, outcome)
        asking.sink.lease_ended(lease)
        asking.sink.ended(asking, 1)

    async def close(self) -> None:
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def _lease(self, asking: Asking, row: int, plan: Plan, price: Price) -> Lease:
        query, now = asking.query, asking.received_at
        return Lease(
            ask_id=query.ask_ids[row],
            lane=query.lanes[row],
            episode=query.episodes[row],
            lane_generation=query.lane_generations[row],
            first_step=query.steps[row],
            hold_steps=query.options.hold_steps,
            options=query.options,
            plan=Plan(plan.strategy, plan.attempts[:1]),
            price=price,
            received_at=now,
            next_step=query.steps[row] + 1,
            used_at=now,
            idle_s=asking.sink.idle_s(query.lanes[row]),
            in_flight=1,
        )

    def _reserve(self, asking: Asking, lease: Lease) -> None:
        """Raises OverBudget or Unavailable. A free lease needs no reservation."""
        amount = lease.price.estimate(lease.hold_steps)
        if amount:
            ttl_s = lease.idle_s * lease.hold_steps + RESERVATION_SLACK_S
            lease.reservation = self.accounts.reserve(asking.caller.tenant, lease.provider_id, amount, ttl_s)

    def _start(self, asking: Asking, row: int, lease: Lease) -> None:
        waiting = Running(None, row, asking.bodies[row], True)
        self.identity.started(asking.caller.owner, lease.ask_id, waiting)
        asking.sink.lease(asking, lease)
        self.alarms.at(lease.used_at + lease.idle_s, lambda: self._idle(asking, lease))

    def _idle(self, asking: Asking, lease: Lease) -> None:
        """End the lease if no row came for too long; else look again when that could next be so."""
        if lease.ended:
            return
        due = lease.used_at + lease.idle_s
        if self.clock.now() < due or lease.in_flight:
            self.alarms.at(max(due, self.clock.now() + lease.idle_s), lambda: self._idle(asking, lease))
            return
        self.end(asking, lease, AskOutcome.NONE)

    def _refuse(self, asking: Asking, row: int, error: BrokerError) -> None:
        asking.close_rows([row])
        asking.sink.fail(asking, [row], error)
        caller = asking.caller
        seconds = self.clock.now() - asking.received_at
        self.emit(AskEnded(caller.tenant, caller.task, error.outcome, "", seconds))
        asking.sink.ended(asking, 1)

    def _landed(
        self,
        step: Asking,
        leases: Sequence[Lease],
        opening: bool,
        began_at: float,
        task: asyncio.Task[Called],
    ) -> None:
        self.tasks.discard(task)
        if task.cancelled():
            self._failed(step, leases, opening, Cancelled("the call was cancelled"))
        elif (error := task.exception()) is not None:
            known = error if isinstance(error, BrokerError) else Internal("the broker failed")
            self._failed(step, leases, opening, known)
        else:
            landing = Landing(task.result(), step.query, began_at, self.clock.now())
            self._served(step, leases, opening, landing)

    def _served(self, step: Asking, leases: Sequence[Lease], opening: bool, landing: Landing) -> None:
        guided = landing.called.guided
        live = self._live(leases)
        if live:
            prices = self._charge([leases[i] for i in live]) if guided.outcome.usable else [0.0] * len(live)
            answer = answering.from_call(step, live, landing, live, prices, leased=True)
            self._send(step, leases, live, opening, answer)
        self._step_over(step, leases, live, opening, guided.outcome)

    def _failed(self, step: Asking, leases: Sequence[Lease], opening: bool, error: BrokerError) -> None:
        live = self._live(leases)
        outcome = _OUTCOMES.get(type(error), AttemptOutcome.PROVIDER_FAULT)
        if live:
            reason = answering.none_reason(outcome)
            answer = answering.nothing(step, live, reason, provider_id=leases[0].provider_id, leased=True)
            self._send(step, leases, live, opening, answer)
        self._step_over(step, leases, live, opening, outcome)

    def _live(self, leases: Sequence[Lease]) -> list[int]:
        """Which of them still go on; an answer for one that ended meanwhile is dropped."""
        live = [i for i, lease in enumerate(leases) if not lease.ended]
        if len(live) < len(leases):
            self.emit(AnswerDropped("lease_ended", len(leases) - len(live)))
        return live

    def _charge(self, leases: Sequence[Lease]) -> list[float]:
        prices = [lease.charge() for lease in leases]
        paid = [
            (lease.reservation, usd)
            for lease, usd in zip(leases, prices, strict=True)
            if lease.reservation is not None
        ]
        if paid:
            self.accounts.charge(paid)
        for lease in leases:
            lease.billed = True
        return prices

    def _send(
        self, step: Asking, leases: Sequence[Lease], live: Sequence[int], opening: bool, answer: Answer
    ) -> None:
        data = step.sink.answer(step, answer)
        if opening:
            bodies = [step.bodies[i] for i in live]
            paid = any(answer.prices_usd)
            now = self.clock.now()
            self.identity.ended(step.caller.owner, step.ids(live), bodies, data, now, paid)
        if answer.guidance is not None:
            for i in live:
                self._count(step, leases[i], AskOutcome.ANSWERED)

    def _step_over(
        self,
        step: Asking,
        leases: Sequence[Lease],
        live: Sequence[int],
        opening: bool,
        outcome: AttemptOutcome,
    ) -> None:
        for lease in leases:
            lease.in_flight -= 1
        if live and not opening:
            seconds = self.clock.now() - step.received_at
            self.emit(LeaseStepServed(leases[0].provider_id, outcome, seconds, len(live)))
        for i in live:
            if leases[i].spent:
                self.end(step, leases[i], AskOutcome.NONE)

    def _count(self, asking: Asking, lease: Lease, outcome: AskOutcome) -> None:
        """Tell the ask's outcome, once: at its first usable answer, else at its end."""
        if lease.counted:
            return
        lease.counted = True
        caller = asking.caller
        seconds = self.clock.now() - lease.received_at
        self.emit(AskEnded(caller.tenant, caller.task, outcome, lease.provider_id, seconds))


_OUTCOMES = {
    DeadlineReached: AttemptOutcome.DEADLINE,
    Shed: AttemptOutcome.RATE_LIMITED,
    Cancelled: AttemptOutcome.CANCELLED,
}
