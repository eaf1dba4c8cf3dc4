"""Who decides: the seam between the control loop and every method, learnt or not."""

from __future__ import annotations

from typing import Protocol

from meta_policy.view import Counts, Flags, LaneView


class Decider(Protocol):
    """Picks one legal move a lane. Pure but for its own memory and `view.rng`; it never makes a call."""

    def decide(self, view: LaneView, legal: Flags) -> Counts:
        """Move indices `[B]` for legal moves `[B, M]`; rows where only ALONE is legal must get ALONE."""
        ...
