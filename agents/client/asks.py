"""Asks in flight, and how one ends for its caller."""

from __future__ import annotations

from typing import NamedTuple

from protos.types import Answer, AnswerKind, AskOptions, AskOutcome, CacheStatus, Failure


class OpenAsk:
    """One ask between its sending and its end. A lease stays here for all its steps."""

    __slots__ = (
        "ask_id",
        "charged_usd",
        "ended_steps",
        "lane",
        "lane_generation",
        "options",
        "outcome",
        "sent_step",
        "step",
        "waiting",
    )

    def __init__(self, ask_id: int, lane: int, lane_generation: int, step: int, options: AskOptions) -> None:
        self.ask_id = ask_id
        self.lane = lane
        self.lane_generation = lane_generation
        self.step = step
        self.options = options
        self.waiting = {step}  # steps sent and not yet answered
        self.sent_step = step
        self.ended_steps = 0
        self.outcome: AskOutcome | None = None
        self.charged_usd = 0.0

    @property
    def leased(self) -> bool:
        return self.options.hold_steps > 0

    @property
    def last_step(self) -> int:
        """The last step of a lease; a plain ask's own."""
        return self.step + max(self.options.hold_steps, 1) - 1


class Ended(NamedTuple):
    """How an ask ended. `local` ones never reached the broker, or were lost on the way."""

    outcome: AskOutcome
    charged_usd: float = 0.0
    failure: Failure | None = None
    local: bool = False


def outcome_of(answer: Answer) -> AskOutcome:
    """The outcome that an ask's first usable answer decides."""
    if answer.kind is AnswerKind.PREDICTED:
        return AskOutcome.PREDICTED
    if answer.degraded:
        return AskOutcome.DEGRADED
    if answer.cache_status in (CacheStatus.HIT, CacheStatus.STALE):
        return AskOutcome.CACHED
    return AskOutcome.ANSWERED
