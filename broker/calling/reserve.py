"""How much of an ask's time is kept for the fallback, and who may use an ask's extra attempts. Pure."""

from __future__ import annotations

from protos.types import ProviderKind

SLOW_RESERVE_S = 0.05
SLOW_RESERVE_SHARE = 0.1
LEAST_RESERVE_S = 0.0002

_OUT_OF_PROCESS = frozenset({ProviderKind.REMOTE, ProviderKind.LLM, ProviderKind.HUMAN})


def reserve_s(kind: ProviderKind, left_s: float, fallback_p99_s: float) -> float:
    """Seconds to keep for the fallback while a source of ``kind`` is tried with ``left_s`` to go.

    Out of process: max(50 ms, 10 % of what remains); in process: the fallback's p99, at least 0.2 ms.
    """
    if kind in _OUT_OF_PROCESS:
        return max(SLOW_RESERVE_S, SLOW_RESERVE_SHARE * left_s)
    return max(LEAST_RESERVE_S, fallback_p99_s)


class ExtraAttempts:
    """The broker-wide budget of attempts beyond an ask's first: ``share`` of all asks, with a small float.

    Without it, a source in trouble is asked several times as often as before by those who wait for it.
    """

    def __init__(self, share: float, at_most: float = 20.0) -> None:
        self._share = share
        self._at_most = at_most
        self._tokens = at_most

    def asked(self) -> None:
        self._tokens = min(self._at_most, self._tokens + self._share)

    def take(self) -> bool:
        """Whether one more may be made; it is then taken."""
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
