"""The closed set of moves at a decision: act alone, ask a provider for some steps, drop what is running."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from meta_policy.view import LaneView

HOLDS = (1, 5, 20, 50)


class MoveKind(IntEnum):
    """ALONE asks for nothing new: a lease that is running goes on. DROP ends the running lease."""

    ALONE = 0
    DROP = 1
    ASK = 2


@dataclass(frozen=True, slots=True)
class Move:
    """One element of the set; `provider` is an index into the provider table, -1 where nobody is asked."""

    kind: MoveKind
    provider: int = -1
    hold: int = 0


ALONE = 0
DROP = 1


class MoveSet:
    """ALONE, DROP, then ASK(provider, hold), provider by provider: M = 2 + P * H moves, index <-> move.

    >>> moves = MoveSet(("rule", "strong"), holds=(1, 5))
    >>> [moves.name(i) for i in range(len(moves))]
    ['alone', 'drop', 'rule:1', 'rule:5', 'strong:1', 'strong:5']
    >>> moves.ask("strong", 5)
    5
    """

    def __init__(self, provider_ids: tuple[str, ...], holds: tuple[int, ...] = HOLDS) -> None:
        if not holds or min(holds) < 1:
            raise ValueError(f"holds must be positive numbers of steps, got {holds}")
        self.provider_ids, self.holds = provider_ids, holds
        asks = [Move(MoveKind.ASK, p, h) for p in range(len(provider_ids)) for h in holds]
        self.moves = (Move(MoveKind.ALONE), Move(MoveKind.DROP), *asks)
        self.provider = np.array([m.provider for m in self.moves])  # [M], -1 where nobody is asked
        self.hold = np.array([m.hold for m in self.moves])  # [M]
        self.asks = self.provider >= 0  # [M]

    def __len__(self) -> int:
        return len(self.moves)

    def ask(self, provider_id: str, hold: int) -> int:
        """Index of a move; ValueError names what there is."""
        if provider_id not in self.provider_ids or hold not in self.holds:
            raise ValueError(
                f"no move {provider_id}:{hold}; providers {self.provider_ids}, holds {self.holds}"
            )
        return 2 + self.provider_ids.index(provider_id) * len(self.holds) + self.holds.index(hold)

    def name(self, index: int) -> str:
        move = self.moves[index]
        if move.kind is not MoveKind.ASK:
            return move.kind.name.lower()
        return f"{self.provider_ids[move.provider]}:{move.hold}"

    def mask(self, view: LaneView, dwell: int = 1, review_every: int = 0) -> NDArray[np.bool_]:
        """Legal moves `[B, M]`; ALONE always is, and a row where only it is legal is no decision.

        A running lease may be dropped at every `review_every`-th of its steps (0: never), never stacked.
        A provider that is not ready, or whose whole lease exceeds the budget left, is not asked. Within
        `dwell` steps of a switch nothing is changed.
        """
        free = view.active & (view.since_switch >= dwell)
        running = view.lease_left > 0
        legal = np.zeros((len(view.step), len(self)), np.bool_)
        legal[:, ALONE] = True
        legal[:, DROP] = free & reviewed(view, review_every)
        ready = view.providers.ready[self.provider] & self.asks
        price = view.providers.price_usd(self.provider, self.hold)
        affordable = price[None] <= view.budget_left[:, None] + 1e-12
        legal |= (free & ~running)[:, None] & ready[None] & affordable
        return legal


def reviewed(view: LaneView, review_every: int) -> NDArray[np.bool_]:
    """Rows `[B]` whose running lease is due for a second thought."""
    if review_every < 1:
        return np.zeros(len(view.step), np.bool_)
    return (view.lease_left > 0) & (view.lease_age > 0) & (view.lease_age % review_every == 0)
