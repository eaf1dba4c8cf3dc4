"""A request's clocks, computed here and nowhere else. All times are seconds on the broker's clock."""

from __future__ import annotations

from dataclasses import dataclass

from protos.types import AskOptions


@dataclass(frozen=True, slots=True)
class ClockRules:
    """What the operator allows, in milliseconds."""

    first_default_ms: int
    first_cap_ms: int
    unary_default_ms: int


@dataclass(frozen=True, slots=True)
class Deadlines:
    """``first_at``: when a caller with nothing usable is told so. ``final_at``: when the ask ends."""

    first_at: float
    final_at: float


def session_deadlines(
    received_at: float, options: AskOptions, rules: ClockRules, final_cap_ms: int
) -> Deadlines:
    """Two clocks. Not given: the default; beyond the cap: the cap. The first never outlasts the final."""
    final_ms = min(options.final_by_ms or final_cap_ms, final_cap_ms)
    first_ms = min(options.first_answer_by_ms or rules.first_default_ms, rules.first_cap_ms, final_ms)
    return Deadlines(received_at + first_ms / 1000, received_at + final_ms / 1000)


def unary_deadlines(
    received_at: float,
    options: AskOptions,
    rules: ClockRules,
    final_cap_ms: int,
    time_left_s: float | None,
) -> Deadlines:
    """One clock: the smaller of the call's own deadline and ``final_by_ms``, and never longer than the cap.

    ``time_left_s`` is what gRPC says remains: None, or absurdly much, where the caller set no deadline.
    """
    asked_s = options.final_by_ms / 1000 if options.final_by_ms else None
    given = [seconds for seconds in (asked_s, time_left_s) if seconds is not None]
    seconds = min([*given, final_cap_ms / 1000] if given else [rules.unary_default_ms / 1000])
    ends_at = received_at + max(0.0, min(seconds, final_cap_ms / 1000))
    return Deadlines(ends_at, ends_at)
