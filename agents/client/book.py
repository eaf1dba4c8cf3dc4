"""The book of asks: what is in flight, what is still waited for, how each ended, and the counts of it all."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from agents.client.asks import Ended, OpenAsk
from agents.client.counts import Counts
from protos.types import Answer, AskOutcome, DropReason, Failure

MAX_ENDED = 65_536
MAX_ARRIVALS = 4_096
Due = tuple[int, int]
"""(lane, step)"""


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """Row `row` of an answer that could not be acted on, kept to learn from."""

    answer: Answer
    row: int
    why: DropReason


class _Waiter:
    __slots__ = ("future", "pending")

    def __init__(self, pending: set[Due], future: asyncio.Future[bool]) -> None:
        self.pending = pending
        self.future = future

    def settle(self, due: Due) -> None:
        self.pending.discard(due)
        if not self.pending:
            self.expire(True)

    def expire(self, settled: bool = False) -> None:
        if not self.future.done():
            self.future.set_result(settled)


class Book:
    """Lives on the loop's thread."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.open: dict[int, OpenAsk] = {}
        self.ended: dict[int, Ended] = {}
        self.arrivals: deque[Arrival] = deque(maxlen=MAX_ARRIVALS)
        self.fault: Failure | None = None
        self._given_up: set[int] = set()
        self._due: dict[Due, int] = {}
        self._waiters: list[_Waiter] = []

    def add(self, ask: OpenAsk) -> None:
        self.open[ask.ask_id] = ask
        self._expect((ask.lane, ask.step))

    def expect_step(self, ask: OpenAsk, step: int) -> None:
        """A lease row went up: an answer for `step` is due."""
        ask.waiting.add(step)
        ask.sent_step = step
        self._expect((ask.lane, step))

    def answered(self, ask: OpenAsk, step: int) -> None:
        """Something came for `step` of this ask. A second time changes nothing."""
        if step in ask.waiting:
            ask.waiting.remove(step)
            self._settle((ask.lane, step))

    def decide(self, ask: OpenAsk, outcome: AskOutcome) -> None:
        """An ask's outcome is counted once, by what came first."""
        if ask.outcome is None:
            ask.outcome = outcome
            self.counts.outcomes[outcome] += 1

    def finish(self, ask: OpenAsk, otherwise: AskOutcome, failure: Failure | None = None) -> None:
        """The ask is over. `otherwise` is its outcome where no usable answer came."""
        if self.open.pop(ask.ask_id, None) is None:
            return
        if self._given_up:
            self._given_up.discard(ask.ask_id)
        self.decide(ask, otherwise)
        assert ask.outcome is not None
        self._remember(ask.ask_id, Ended(ask.outcome, ask.charged_usd, failure))
        if ask.waiting:
            self.forgo(ask)

    def give_up(self, ask: OpenAsk) -> None:
        """Nobody can act on this ask any more. What is on its way still counts, and is learnt from."""
        self._given_up.add(ask.ask_id)
        self.forgo(ask)

    def forgo(self, ask: OpenAsk) -> None:
        """Nobody waits for this ask any more."""
        for step in tuple(ask.waiting):
            self.answered(ask, step)

    def reconcile(self, on_broker: int) -> None:
        """The broker ends what was given up, and leases that have lapsed, without a word: a credit comes
        back.

        `on_broker` are the asks whose credit is still out. When so many are missing that all of those must be
        among them, they have ended, and ended as the broker counts it where nothing usable came: cancelled,
        or none.
        """
        if self._given_up and len(self.open) - on_broker >= len(self._given_up):
            for ask_id in tuple(self._given_up):
                self.finish(self.open[ask_id], AskOutcome.CANCELLED)
        missing = len(self.open) - on_broker
        if missing > 0:
            quiet = [ask for ask in self.open.values() if ask.leased and not ask.waiting]
            for ask in quiet if missing >= len(quiet) else ():
                self.finish(ask, AskOutcome.NONE)

    def refuse(self, failure: Failure, outcome: AskOutcome) -> None:
        """An ask that never left this process."""
        self._remember(failure.ask_id, Ended(outcome, 0.0, replace(failure, outcome=outcome), local=True))

    def lose_all(self, code: int, message: str) -> None:
        """The connection ended: every ask in flight did, as far as this process can know."""
        self.counts.lost += len(self.open)
        for ask in self.open.values():
            failure = Failure(
                ask.lane,
                ask.ask_id,
                0,
                ask.step,
                code,
                "CONNECTION_LOST",
                message,
                outcome=AskOutcome.UNAVAILABLE,
            )
            outcome = AskOutcome.UNAVAILABLE if ask.outcome is None else ask.outcome
            self._remember(ask.ask_id, Ended(outcome, ask.charged_usd, failure, local=True))
        self.open.clear()
        self._given_up.clear()
        self._due.clear()
        for waiter in self._waiters:
            waiter.expire(True)

    def inherited(self) -> None:
        """In a forked child: who waited was the parent."""
        self._waiters = []

    async def settled(self, due: Iterable[Due], timeout_s: float) -> bool:
        """True once nothing of `due` is waited for any more; False when the time ended first."""
        pending = {one for one in due if one in self._due}
        if not pending:
            return True
        loop = asyncio.get_running_loop()
        waiter = _Waiter(pending, loop.create_future())
        self._waiters.append(waiter)
        timer = loop.call_later(timeout_s, waiter.expire)
        try:
            return await waiter.future
        finally:
            timer.cancel()
            self._waiters.remove(waiter)

    def _expect(self, due: Due) -> None:
        self._due[due] = self._due.get(due, 0) + 1

    def _settle(self, due: Due) -> None:
        left = self._due.get(due, 0) - 1
        if left > 0:
            self._due[due] = left
            return
        self._due.pop(due, None)
        for waiter in self._waiters:
            waiter.settle(due)

    def _remember(self, ask_id: int, ended: Ended) -> None:
        self.ended[ask_id] = ended
        if len(self.ended) > MAX_ENDED:
            del self.ended[next(iter(self.ended))]
