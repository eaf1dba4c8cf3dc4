"""What a lane holds: a join over answers, so that any order of arrival ends in the same state.

Per guidance kind, and per row of a chunk, a lane holds the answer of the highest rank. A rank is (session
generation, lane generation, observation step of the ask, FINAL or CORRECTION over PREDICTED, seq), compared
in that order. A lower rank never replaces a higher one and a duplicate changes nothing, which makes
:func:`join` associative, commutative and idempotent: a register whose clock is the order of observations, not
of messages.

The values are named tuples because a lane makes one or two of them for every row of every answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from protos.types import Answer, AnswerKind, Chunk, GuidanceKind

Rank = tuple[int, int, int, int, int]

MAX_CHUNKS = 16
"""Chunks a lane keeps for merging; the lowest ranks go first. Far more than overlap in practice."""


def rank(session_generation: int, lane_generation: int, step: int, kind: AnswerKind, seq: int) -> Rank:
    return session_generation, lane_generation, step, int(kind is not AnswerKind.PREDICTED), seq


class Held(NamedTuple):
    """Row `row` of `answer`, usable at the control steps `first_step..last_step`, both included.

    `arrived_step` is the first step that could still use it, which is where a crossfade begins.
    """

    rank: Rank
    kind: GuidanceKind
    answer: Answer
    row: int
    first_step: int
    last_step: int
    arrived_step: int = 0

    @property
    def step(self) -> int:
        """The step whose observation this answers."""
        return self.rank[2]

    @property
    def chunk(self) -> Chunk:
        guidance = self.answer.guidance
        assert isinstance(guidance, Chunk)
        return guidance

    def covers(self, step: int) -> bool:
        return self.first_step <= step <= self.last_step


NONE_HELD: Mapping[GuidanceKind, Held] = MappingProxyType({})


class Registers(NamedTuple):
    """The single `action`, the `others` by kind, and `chunks`, which rise by rank; all of the two
    generations.
    """

    session_generation: int
    lane_generation: int
    action: Held | None = None
    chunks: tuple[Held, ...] = ()
    others: Mapping[GuidanceKind, Held] = NONE_HELD


def join(registers: Registers, held: Held) -> Registers:
    """The state with `held` taken in; the same object when nothing changed (older, or a duplicate)."""
    rank = held.rank
    if rank[0] != registers[0] or rank[1] != registers[1]:
        return registers
    if held.kind is GuidanceKind.ACTION:
        known = registers.action
        if known is not None and known.rank >= rank:
            return registers
        return Registers(registers[0], registers[1], held, registers.chunks, registers.others)
    if held.kind is GuidanceKind.CHUNK:
        return _join_chunk(registers, held)
    known = registers.others.get(held.kind)
    if known is not None and known.rank >= rank:
        return registers
    return registers._replace(others={**registers.others, held.kind: held})


def _join_chunk(registers: Registers, held: Held) -> Registers:
    chunks = list(registers.chunks)
    for i, known in enumerate(chunks):
        if known.rank == held.rank:
            if known.arrived_step <= held.arrived_step:
                return registers
            chunks[i] = held
            return registers._replace(chunks=tuple(chunks))
    chunks.append(held)
    chunks.sort(key=lambda one: one.rank)
    kept = tuple(chunks[-MAX_CHUNKS:])
    return registers._replace(chunks=kept) if any(one is held for one in kept) else registers


def raise_generation(registers: Registers, session_generation: int, lane_generation: int) -> Registers:
    """An empty state of higher generations; what belongs to lower ones can no longer be taken in."""
    now = (registers.session_generation, registers.lane_generation)
    if (session_generation, lane_generation) <= now:
        return registers
    return Registers(session_generation, lane_generation)


def executed(registers: Registers, step: int) -> Registers:
    """Chunks whose last row is before `step` can never act again and go."""
    if all(one.last_step >= step for one in registers.chunks):
        return registers
    return registers._replace(chunks=tuple(one for one in registers.chunks if one.last_step >= step))


def candidates(registers: Registers, step: int) -> list[Held]:
    """The chunks with a row for `step`, the highest of each ask step, rising by rank."""
    by_ask: dict[int, Held] = {}
    for one in registers.chunks:
        if one.covers(step):
            by_ask[one.step] = one
    return list(by_ask.values())


def action_for(registers: Registers, step: int) -> Held | None:
    """The single action held for `step`, or None when it is too old, or for a later step."""
    held = registers.action
    return held if held is not None and held.first_step <= step <= held.last_step else None


def runway_steps(registers: Registers, step: int) -> int:
    """Steps from `step` on for which something usable is held, without a gap."""
    held = action_for(registers, step)
    end = step if held is None else held.last_step + 1
    for one in sorted(registers.chunks, key=lambda chunk: chunk.first_step):
        if one.first_step <= end:
            end = max(end, one.last_step + 1)
    return end - step
