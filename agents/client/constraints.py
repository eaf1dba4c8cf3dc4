"""The filter every executed action passes, the agent's own included. Pure: time and connection come in as
values.

Order: an operator's stop, then the time to live, then bounds, half-spaces and masks on the action. A lane
that was never given a constraint is never restricted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from agents.client.projection import contradictory, nearest
from protos.types import Constraints, HalfSpace

Action = NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the filter did to one action. All False: it was executed as given.

    `penalty` is the sum over soft constraints of weight times distance outside.
    """

    clipped: bool = False  # moved into the bounds or half-spaces
    masked: bool = False  # a discrete action that is not allowed
    safe_action: bool = False  # the declared safe action stands in
    stopped: bool = False  # an operator's stop is in force: where no safe action is declared, do not act
    expired: bool = False  # the constraints outlived the broker's last word
    infeasible: bool = False  # no action satisfies them, or the action is not finite
    penalty: float = 0.0

    @property
    def changed(self) -> bool:
        return self.clipped or self.masked or self.safe_action


UNRESTRICTED = Verdict()
STOPPED = Verdict(stopped=True)
STOPPED_SAFE = Verdict(stopped=True, safe_action=True)
CLIPPED = Verdict(clipped=True)


@dataclass(frozen=True, slots=True)
class Entry:
    """One source's constraints. `rank`, (session generation, version), never falls."""

    rank: tuple[int, int]
    constraints: Constraints


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Hard entries folded into one. `low` and `high` are `[A]` or None, `allowed` `[n]` or None."""

    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    allowed: NDArray[np.bool_] | None = None
    half_spaces: tuple[HalfSpace, ...] = ()
    safe_action: tuple[float, ...] = ()
    ttl_s: float = float("inf")
    contradictory: bool = False


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """All that binds one lane. `hard` is folded from `entries`; `stopped` until an operator releases it."""

    entries: tuple[Entry, ...] = ()
    hard: Limits = NO_LIMITS
    soft: tuple[Constraints, ...] = ()
    stopped: bool = False

    @property
    def empty(self) -> bool:
        return not self.entries and not self.stopped


FREE = Envelope()


def put(envelope: Envelope, constraints: Constraints, session_generation: int) -> Envelope:
    """Take one source's constraints in. What an older session pushed gives way to the first word of a newer
    one.
    """
    rank = (session_generation, constraints.version)
    kept = []
    for entry in envelope.entries:
        if entry.constraints.source == constraints.source:
            if entry.rank >= rank:
                return envelope
        elif entry.rank[0] >= session_generation:
            kept.append(entry)
    return _fold((*kept, Entry(rank, constraints)), envelope.stopped)


def forget(envelope: Envelope, session_generation: int) -> Envelope:
    """Without what that session and earlier ones pushed."""
    kept = tuple(entry for entry in envelope.entries if entry.rank[0] > session_generation)
    return envelope if len(kept) == len(envelope.entries) else _fold(kept, envelope.stopped)


def stop(envelope: Envelope, stopped: bool) -> Envelope:
    """An operator's stop or its release."""
    return replace(envelope, stopped=stopped)


def constrain(envelope: Envelope, action: Action, silence_s: float, start: int = 0) -> tuple[Action, Verdict]:
    """The action to execute in place of `action` (`[A]`, or a discrete number whose space begins at `start`).

    `silence_s` is for how long the broker has not been heard; 0 while the session stands.
    """
    if envelope.empty:
        return action, UNRESTRICTED
    hard = envelope.hard
    if envelope.stopped:
        return _stopped(hard, action)
    if silence_s > hard.ttl_s:
        return _instead(hard, action, Verdict(expired=True))
    if hard.contradictory or not np.isfinite(action).all():
        return _instead(hard, action, Verdict(infeasible=True))
    allowed, verdict = _hard(hard, action, start)
    if envelope.soft and not verdict.safe_action:
        verdict = replace(verdict, penalty=sum(_penalty(one, allowed) for one in envelope.soft))
    return allowed, verdict


def _fold(entries: tuple[Entry, ...], stopped: bool) -> Envelope:
    hard = [entry.constraints for entry in entries if entry.constraints.hard]
    soft = tuple(entry.constraints for entry in entries if not entry.constraints.hard)
    return Envelope(entries, _limits(hard) if hard else NO_LIMITS, soft, stopped)


def _limits(hard: list[Constraints]) -> Limits:
    lows = [np.asarray(one.low, dtype=np.float64) for one in hard if one.low]
    highs = [np.asarray(one.high, dtype=np.float64) for one in hard if one.high]
    masks = [np.asarray(one.allowed, dtype=np.bool_) for one in hard if one.allowed]
    low = np.max(np.broadcast_arrays(*lows), axis=0) if lows else None
    high = np.min(np.broadcast_arrays(*highs), axis=0) if highs else None
    allowed = np.logical_and.reduce(masks) if masks else None
    half_spaces = tuple(half for one in hard for half in one.half_spaces)
    return Limits(
        low=low,
        high=high,
        allowed=allowed,
        half_spaces=half_spaces,
        safe_action=next((one.safe_action for one in hard if one.safe_action), ()),
        ttl_s=min(one.ttl_ms for one in hard) / 1000.0,
        contradictory=contradictory(low, high, half_spaces) or (allowed is not None and not allowed.any()),
    )


def _hard(hard: Limits, action: Action, start: int) -> tuple[Action, Verdict]:
    if hard.allowed is not None:
        return _masked(hard, action, start)
    if hard.low is None and hard.high is None and not hard.half_spaces:
        return action, UNRESTRICTED
    moved = nearest(action, hard.low, hard.high, hard.half_spaces)
    if moved is None:
        return _instead(hard, action, Verdict(infeasible=True))
    if moved is action:
        return action, UNRESTRICTED
    return moved, CLIPPED


def _masked(hard: Limits, action: Action, start: int) -> tuple[Action, Verdict]:
    assert hard.allowed is not None
    index = int(action) - start
    if 0 <= index < len(hard.allowed) and hard.allowed[index]:
        return action, UNRESTRICTED
    if hard.safe_action:
        return _instead(hard, action, Verdict(masked=True))
    return np.asarray(np.flatnonzero(hard.allowed)[0] + start, dtype=np.asarray(action).dtype), Verdict(
        masked=True
    )


def _stopped(hard: Limits, action: Action) -> tuple[Action, Verdict]:
    if hard.safe_action:
        return _safe(hard, action), STOPPED_SAFE
    return np.zeros_like(action), STOPPED


def _instead(hard: Limits, action: Action, verdict: Verdict) -> tuple[Action, Verdict]:
    """The safe action where one is declared, else the agent's own, flagged."""
    if not hard.safe_action:
        return action, verdict
    return _safe(hard, action), replace(verdict, safe_action=True)


def _safe(hard: Limits, action: Action) -> Action:
    safe = np.asarray(hard.safe_action, dtype=np.asarray(action).dtype)
    return safe.reshape(np.shape(action))


def _penalty(soft: Constraints, action: Action) -> float:
    outside = 0.0
    values = np.asarray(action, dtype=np.float64)
    if soft.low:
        outside += float(np.maximum(np.asarray(soft.low) - values, 0.0).sum())
    if soft.high:
        outside += float(np.maximum(values - np.asarray(soft.high), 0.0).sum())
    outside += sum(max(0.0, excess) for excess in _excess(soft.half_spaces, values))
    return soft.penalty_weight * outside


def _excess(half_spaces: Iterable[HalfSpace], action: NDArray[np.float64]) -> Iterable[float]:
    for half in half_spaces:
        normal = np.asarray(half.normal)
        yield (float(normal @ action) - half.offset) / float(np.linalg.norm(normal) or 1.0)
