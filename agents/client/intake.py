"""Takes the broker's messages apart: answers into registers, the rest into the tables they keep alive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from agents.client import constraints as limits
from agents.client.advice import provider_of
from agents.client.asks import OpenAsk, outcome_of
from agents.client.book import Arrival, Book
from agents.client.lane import Held, join
from agents.client.lanes import Lane
from agents.client.providers import ProviderTable
from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import (
    ActionAdvice,
    Answer,
    AnswerKind,
    AskOutcome,
    Chunk,
    ChunkAnchor,
    Constraints,
    DropReason,
    Failure,
    Guidance,
    GuidanceKind,
    OperatorPush,
    Plan,
    Residual,
    ShapingTerms,
    Skill,
    Subgoals,
)

M = TypeVar("M")
V = TypeVar("V")
FOREVER = 2**63
LEASE_ENDED = "LEASE_ENDED"
"""The broker's reason for a row of a lease that has lapsed: no row had come for too long."""

KIND_OF: Mapping[type[Guidance], GuidanceKind] = {
    ActionAdvice: GuidanceKind.ACTION,
    Chunk: GuidanceKind.CHUNK,
    Subgoals: GuidanceKind.SUBGOALS,
    Skill: GuidanceKind.SKILL,
    ShapingTerms: GuidanceKind.SHAPING,
    Constraints: GuidanceKind.CONSTRAINTS,
    Plan: GuidanceKind.PLAN,
    Residual: GuidanceKind.RESIDUAL,
}


class Intake:
    """`generation` counts our own connections: a restarted broker may repeat an old number."""

    def __init__(self, book: Book, lanes: Mapping[int, Lane], providers: ProviderTable) -> None:
        self.book = book
        self.lanes = lanes
        self.providers = providers
        self.credits = 0
        self.granted = 0
        self.generation = 0
        self.wire_generation = 0
        self.pushes: list[OperatorPush] = []
        self.listener: Callable[[Answer], None] | None = None

    def take(self, message: pb.SessionResponse) -> None:
        """A part that breaks the contract is counted and left out; the others are taken."""
        if message.answers:
            self._each(message.answers, codec.answer_from_proto, self.answer)
        if message.failures:
            self._each(message.failures, codec.failure_from_proto, self.failure)
        if message.credits_returned:
            self.credits += message.credits_returned
            self.book.reconcile(self.granted - self.credits)
        if message.constraints:
            self._each(message.constraints, codec.constraints_from_proto, self._constrain)
        if message.pushes:
            self._each(message.pushes, codec.operator_push_from_proto, self._push)
        if message.provider_updates:
            self._each(message.provider_updates, codec.provider_update_from_proto, self.providers.update)
        if message.HasField("gap"):
            self.book.counts.gaps += message.gap.dropped_updates

    def answer(self, answer: Answer) -> None:
        """B rows of one answer: counted, charged, settled, and held where they can still be acted on."""
        self.book.counts.answers[answer.kind] += answer.rows
        if answer.prices_usd:
            self.book.counts.charge(provider_of(answer), sum(answer.prices_usd))
        if self.listener is not None:
            self.listener(answer)
        guided = None if answer.guidance is None else self._guided(answer, answer.guidance)
        for row, ask_id in enumerate(answer.ask_ids):
            ask = self.book.open.get(ask_id)
            if ask is None:
                self._drop(answer, row, DropReason.STALE_GENERATION)
            else:
                self._row(ask, answer, row, guided)

    def failure(self, failure: Failure) -> None:
        self.book.counts.failures += 1
        ask = self.book.open.get(failure.ask_id)
        if ask is None:
            self.book.fault = failure
            return
        self.book.answered(ask, failure.step)
        if failure.ended:
            self._close(ask, failure.outcome, failure)
        elif failure.reason == LEASE_ENDED or self._has_passed(ask):
            self._close(ask, AskOutcome.NONE, failure)

    def _guided(self, answer: Answer, guidance: Guidance) -> _Guided:
        fresh = answer.session_generation in (0, self.wire_generation)
        real = int(answer.kind is not AnswerKind.PREDICTED)
        return _Guided(guidance, KIND_OF[type(guidance)], outcome_of(answer), real, fresh)

    def _row(self, ask: OpenAsk, answer: Answer, row: int, guided: _Guided | None) -> None:
        if answer.prices_usd:
            ask.charged_usd += answer.prices_usd[row]
        if guided is not None:
            if ask.outcome is None:
                self.book.decide(ask, guided.outcome)
            self._hold(ask, answer, row, guided)
        self.book.answered(ask, answer.steps[row])
        if answer.ended:
            ask.ended_steps += 1
            if self._is_over(ask, answer):
                self._close(ask, AskOutcome.NONE)

    def _is_over(self, ask: OpenAsk, answer: Answer) -> bool:
        """A plain ask ends with its answer; a lease when each step is answered, or its last is over and none
        is due.
        """
        if not (answer.leased and ask.leased) or ask.ended_steps >= ask.options.hold_steps:
            return True
        return self._has_passed(ask)

    def _has_passed(self, ask: OpenAsk) -> bool:
        return not ask.waiting and self.lanes[ask.lane].executed >= ask.last_step

    def _close(self, ask: OpenAsk, otherwise: AskOutcome, failure: Failure | None = None) -> None:
        self.book.finish(ask, otherwise, failure)
        lane = self.lanes[ask.lane]
        if ask.leased and ask in lane.leases:
            lane.leases.remove(ask)

    def _hold(self, ask: OpenAsk, answer: Answer, row: int, guided: _Guided) -> None:
        lane = self.lanes[ask.lane]
        if not guided.fresh or not _current(lane, ask, answer, row):
            self._drop(answer, row, DropReason.STALE_GENERATION)
            return
        step = answer.steps[row]
        first, last = _usable_steps(ask, lane, step, row, guided)
        rank = (self.generation, lane.generation, step, guided.real, answer.seqs[row] if answer.seqs else 0)
        held = Held(rank, guided.kind, answer, row, first, last, lane.executed + 1)
        if last <= lane.executed:
            self._drop(answer, row, DropReason.LATE)
        elif guided.kind is GuidanceKind.CHUNK and _late_prefix(held):
            self._drop(answer, row, DropReason.LATE_PREFIX)
        else:
            self._join(lane, held)

    def _join(self, lane: Lane, held: Held) -> None:
        joined = join(lane.registers, held)
        if joined is lane.registers:
            self._drop(held.answer, held.row, DropReason.SUPERSEDED)
        elif isinstance(constraints := held.answer.guidance, Constraints):
            source = constraints.source or provider_of(held.answer)
            self._constrain(replace(constraints, lanes=(lane.number,), source=source, version=held.rank[-1]))
        lane.registers = joined

    def _drop(self, answer: Answer, row: int, why: DropReason) -> None:
        """Not for acting, but counted, and kept for learning."""
        counts = self.book.counts
        counts.stale += why is DropReason.STALE_GENERATION
        counts.late += why in (DropReason.LATE, DropReason.LATE_PREFIX)
        counts.superseded += why is DropReason.SUPERSEDED
        self.book.arrivals.append(Arrival(answer, row, why))

    def _constrain(self, constraints: Constraints) -> None:
        for lane in self._lanes(constraints.lanes):
            lane.envelope = limits.put(lane.envelope, constraints, self.generation)

    def _push(self, push: OperatorPush) -> None:
        if push.stop is None:
            self.pushes.append(push)
            return
        for lane in self._lanes(push.lanes):
            lane.envelope = limits.stop(lane.envelope, push.stop)

    def _lanes(self, numbers: Iterable[int]) -> list[Lane]:
        return [self.lanes[number] for number in numbers if number in self.lanes] or (
            [] if tuple(numbers) else list(self.lanes.values())
        )

    def _each(self, messages: Iterable[M], decode: Callable[[M], V], use: Callable[[V], Any]) -> None:
        for message in messages:
            try:
                value = decode(message)
            except codec.ContractError:
                self.book.counts.malformed += 1
                continue
            use(value)


class _Guided(NamedTuple):
    """What the rows of one usable answer have in common. `fresh`: it is of this stream; `real`: not
    PREDICTED.
    """

    guidance: Guidance
    kind: GuidanceKind
    outcome: AskOutcome
    real: int
    fresh: bool


def _current(lane: Lane, ask: OpenAsk, answer: Answer, row: int) -> bool:
    """Whether the answer belongs to the episode and lane generation of now."""
    return (
        ask.lane_generation == lane.generation
        and answer.episodes[row] == lane.episode
        and (not answer.lane_generations or answer.lane_generations[row] == lane.generation)
    )


def _usable_steps(ask: OpenAsk, lane: Lane, step: int, row: int, guided: _Guided) -> tuple[int, int]:
    """The control steps at which this guidance may act, both included."""
    if guided.kind is GuidanceKind.ACTION:
        last = step + ask.options.max_age_steps
        return step, min(last, ask.last_step) if ask.options.hold_steps else last
    if isinstance(guided.guidance, Chunk):
        chunk = guided.guidance
        first = lane.executed + 1 if chunk.anchor is ChunkAnchor.ARRIVAL else chunk.first_steps[row]
        return first, first + chunk.actions.shape[1] - 1
    return step, FOREVER  # subgoals, skills and the like hold until something newer comes


def _late_prefix(held: Held) -> bool:
    """A chunk that took longer than the prefix it was conditioned on would jump."""
    prefix = held.chunk.conditioned_prefix
    return prefix > 0 and held.arrived_step - held.step > prefix
