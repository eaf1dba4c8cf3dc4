"""All that a decision may look at: what the lanes know, and the live provider table. It costs no call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protos.types import ProviderState

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ProviderSnapshot:
    """The provider table at one moment, P sources in a fixed order; latencies in milliseconds, end to end."""

    ids: tuple[str, ...]
    usd_per_ask: Floats  # [P]
    usd_per_step: Floats  # [P]
    p50_ms: Floats  # [P]
    p95_ms: Floats  # [P]
    p99_ms: Floats  # [P]
    state: Counts  # [P], numbers of protos.types.ProviderState
    queued: Counts  # [P]

    @property
    def ready(self) -> Flags:
        """[P]: may be asked now."""
        return self.state == ProviderState.READY

    def price_usd(self, provider: Counts, hold: Counts) -> Floats:
        """What leases of `hold` steps are listed at, elementwise; 0 where `provider` is -1."""
        listed = self.usd_per_ask[provider] + hold * self.usd_per_step[provider]
        return np.where(provider >= 0, listed, 0.0)


@dataclass(frozen=True, slots=True)
class LaneView:
    """B lanes at the start of a control step. Ages and counts are in control steps; NEVER is "not yet".

    A lane that is not `active` has no episode: its other columns mean nothing.
    """

    active: Flags  # [B]
    step: Counts  # [B] of the episode
    observation: Floats  # [B, O] raw
    seen: NDArray[np.float32]  # [B, O] normalised by the executor's own statistics
    own_action: NDArray[np.float32]  # [B, A] what the executor would do alone, clipped
    values: Floats  # [K, B] the executor's critics, raw discounted return
    entropy: Floats  # [B] of the executor's action distribution, nats
    providers: ProviderSnapshot
    period_ms: float
    lease_provider: Counts  # [B], -1 none
    lease_left: Counts  # [B] steps of the running lease still to come, this one included
    lease_age: Counts  # [B] steps since it was opened
    last_provider: Counts  # [B] origin of the last guided step, -1 none
    last_age: Counts  # [B] steps since the last guided step
    origin: Counts  # [B] of the action executed in the step before, -1 own
    since_switch: Counts  # [B] steps since the origin last changed
    budget_left: Floats  # [B] USD of this episode, inf if there is no budget
    beta: Floats  # [B] how much a dollar weighs in this episode
    rng: np.random.Generator  # for methods that toss coins

    @property
    def value_mean(self) -> Floats:
        """[B]"""
        return self.values.mean(axis=0)

    @property
    def value_spread(self) -> Floats:
        """[B]: standard deviation over the ensemble, the value uncertainty."""
        return self.values.std(axis=0)


NEVER = 1_000_000
