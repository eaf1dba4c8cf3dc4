"""How rows end: each exactly once, told to its sink, counted, and its credit given back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from broker.asks import answering
from broker.asks.asking import Asking
from broker.clock import Clock
from broker.errors import BrokerError, InvalidRequest
from broker.events import AnswerDropped, AskEnded, Event, InvalidInput, LateAnswerSent
from protos.types import Answer, AnswerKind, AskOutcome, NoneReason


@dataclass(frozen=True, slots=True)
class Results:
    clock: Clock
    emit: Callable[[Event], None]

    def answer(self, asking: Asking, rows: Sequence[int], answer: Answer, outcome: AskOutcome) -> bytes:
        """Rows get their final answer. Returns it serialised."""
        data = asking.sink.answer(asking, answer)
        provider_id = answer.provider_ids[0] if answer.provider_ids else ""
        if asking.told_pending and answer.kind is AnswerKind.FINAL:
            self.emit(LateAnswerSent("final", provider_id, len(rows)))
        self._end(asking, rows, outcome, provider_id)
        return data

    def nothing(self, asking: Asking, rows: Sequence[int], reason: NoneReason) -> None:
        if rows:
            self.answer(asking, rows, answering.nothing(asking, rows, reason), AskOutcome.NONE)

    def pending(self, asking: Asking, rows: Sequence[int]) -> None:
        """The first clock ended: say so, and let the asks live on."""
        asking.told_pending = True
        answer = answering.nothing(asking, rows, NoneReason.TIMEOUT, pending=True)
        asking.sink.answer(asking, answer)

    def fail(self, asking: Asking, rows: Sequence[int], error: BrokerError) -> None:
        if not rows:
            return
        if isinstance(error, InvalidRequest):
            self.emit(InvalidInput(error.reason_or_default))
        asking.sink.fail(asking, rows, error)
        self._end(asking, rows, error.outcome, "")

    def drop(self, asking: Asking, rows: Sequence[int], why: str) -> None:
        """Their answer is here, but can no longer be acted on."""
        if rows:
            self.emit(AnswerDropped(why, len(rows)))
            self._end(asking, rows, AskOutcome.CANCELLED, "")

    def withdraw(self, asking: Asking, rows: Sequence[int]) -> None:
        """Nobody is there any more to be told."""
        if rows:
            self._end(asking, rows, AskOutcome.CANCELLED, "")

    def _end(self, asking: Asking, rows: Sequence[int], outcome: AskOutcome, provider_id: str) -> None:
        caller, count = asking.caller, len(rows)
        asking.close_rows(rows)
        seconds = self.clock.now() - asking.received_at
        self.emit(AskEnded(caller.tenant, caller.task, outcome, provider_id, seconds, count))
        asking.sink.ended(asking, count)
