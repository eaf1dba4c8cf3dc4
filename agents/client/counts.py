"""The client's own exact counts. After any mixed run they equal the broker's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from protos.types import AnswerKind, AskOutcome


@dataclass(slots=True)
class Counts:
    """Rows, unless the name says otherwise.

    What the broker saw: `asks_sent`, `lease_rows_sent`, `outcomes`, `answers`, `failures`, `charged_usd`.
    What only the client knows: the rest. `lost` are asks in flight when a connection ended: the broker may
    have answered and charged them, which `get_guidance` or an ask with the same id finds out.
    """

    asks_sent: int = 0
    lease_rows_sent: int = 0
    outcomes: Counter[AskOutcome] = field(default_factory=Counter)
    answers: Counter[AnswerKind] = field(default_factory=Counter)
    failures: int = 0
    charged_usd: dict[str, float] = field(default_factory=dict)
    local_sheds: int = 0  # out of credits
    local_unavailable: int = 0  # asked while not connected
    local_refused: int = 0  # an observation that is not finite
    lost: int = 0
    stale: int = 0  # answers of an ended episode or an older lane generation
    late: int = 0  # answers too old to use when they came
    superseded: int = 0  # answers that lost to one of higher rank
    abandoned: int = 0  # answers whose tube of observations the lane left
    starved_steps: int = (
        0  # executed steps for which a lease or a chunk should have had something, and had not
    )
    malformed: int = 0  # parts of messages that broke the contract
    gaps: int = 0  # updates the broker left out because this reader was slow
    connections: int = 0

    def charge(self, provider_id: str, usd: float) -> None:
        self.charged_usd[provider_id] = self.charged_usd.get(provider_id, 0.0) + usd

    @property
    def total_charged_usd(self) -> float:
        return sum(self.charged_usd.values())
