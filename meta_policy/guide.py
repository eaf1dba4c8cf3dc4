"""The transport under the control loop: one protocol, spoken by a virtual clock and by a live session.

The loop is the same either way, so that what holds on the virtual clock can be checked against a real broker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from meta_policy.view import Counts, Flags, Floats, ProviderSnapshot

Regime = Literal["realtime", "blocking"]
"""Whether the environment goes on while an answer is on its way, or stands still until it is there."""


@dataclass(frozen=True, slots=True)
class Request:
    """What one control step sends; B rows, one a lane. `serves` includes the leases opened at this step."""

    active: Flags  # [B] lanes with an episode
    step: Counts  # [B] of the episode
    observation: Floats  # [B, O] raw
    opens: Counts  # [B] provider asked at this step, -1 none
    hold: Counts  # [B] steps of that lease
    serves: Counts  # [B] provider whose lease covers this step, -1 none
    cancels: Flags  # [B] the lease that was running is dropped before this step


@dataclass(frozen=True, slots=True)
class Exchange:
    """What came of it by the time the action was due."""

    action: NDArray[np.float32]  # [B, A], read where `guided`
    guided: Flags  # [B] a usable answer is there
    provider: Counts  # [B] whose, -1 none
    price_usd: Floats  # [B] charged for this step
    wait_ms: Floats  # [B] the environment stood still (blocking only, else 0)
    latency_ms: Floats  # [B] of the answer to this step's observation; nan: none asked, or not known yet
    broken: Flags  # [B] the lease has ended before its time


class Guide(Protocol):
    """Asynchronous so that a live one can wait for the wire; a virtual one never suspends."""

    @property
    def providers(self) -> ProviderSnapshot:
        """The table as it is now; the order of ids never changes."""
        ...

    async def tick(self) -> int:
        """Wait for the start of the next control period; how many were missed since the last one."""
        ...

    async def begin(self, lanes: Counts, episodes: Counts) -> None:
        """Episodes start on `lanes` `[N]`; `episodes` `[N]` are their seeds."""
        ...

    async def ahead(self, serves: Counts, step: Counts, observation: Floats) -> None:
        """Send what is certain before anything is decided. `serves` `[B]` is the provider whose lease covers
        this step whatever is decided, -1 none; `step` `[B]`, `observation` `[B, O]` raw."""
        ...

    async def exchange(self, request: Request) -> Exchange:
        """Send the rest, then wait until all that is expected has come or the action is due (half a period
        after the tick); in the blocking regime until all has come."""
        ...

    def constrain(self, action: NDArray[np.float32]) -> NDArray[np.float32]:
        """The executed actions `[B, A]`, own ones too, within the constraints in force."""
        ...

    async def settle(self, reward: Floats) -> None:
        """What the step brought, `[B]`, for outcome reports."""
        ...

    async def end(self, lanes: Counts, truncated: Flags) -> None:
        """The episodes on `lanes` `[N]` are over."""
        ...
