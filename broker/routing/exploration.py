"""A share of plans begins with a source nobody knows the latency of, or it would never be known."""

from __future__ import annotations

from collections.abc import Sequence

from broker.routing.interface import Candidate, Step

ENOUGH_SAMPLES = 5


class Exploration:
    """Every ``period``-th plan begins with a cold source, each in its turn; a period of 0 never does.

    A counter, not a die: plans stay repeatable, and the share is exact. A source that only fails stays cold,
    and its share bounded.
    """

    def __init__(self, period: int) -> None:
        self._period = period
        self._plans = 0
        self._explored = 0

    def applied(self, steps: Sequence[Step], candidates: Sequence[Candidate]) -> tuple[Step, ...]:
        """The steps, with a cold source first where it is one's turn."""
        cold = [c.info.provider_id for c in candidates if c.latency.samples < ENOUGH_SAMPLES]
        if not cold or len(candidates) < 2 or not self._period:
            return tuple(steps)
        self._plans += 1
        if self._plans % self._period:
            return tuple(steps)
        chosen = sorted(cold)[self._explored % len(cold)]
        self._explored += 1
        first = next(step for step in steps if step.provider_id == chosen)
        explored = Step(first.provider_id, first.score, f"explored: {first.why}")
        return (explored, *(step for step in steps if step is not first))
