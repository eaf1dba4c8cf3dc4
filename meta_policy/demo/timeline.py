"""One episode, step by step, for a picture."""

from __future__ import annotations

from meta_policy.demo.pictures import Timeline
from meta_policy.loop import StepRecord


class TimelineWatch:
    """Keeps the first episode of the first lane."""

    def __init__(self, period_ms: float) -> None:
        self._period_ms = period_ms
        self._providers: tuple[str, ...] = ()
        self._spread: list[float] = []
        self._origin: list[int] = []
        self._asked: list[int] = []
        self._over = False

    def __call__(self, record: StepRecord) -> None:
        if self._over or not record.active[0]:
            return
        self._providers = record.view.providers.ids
        self._spread.append(float(record.view.values[:, 0].std()))
        self._origin.append(int(record.origin[0]))
        self._asked.append(int(record.request.opens[0]))
        self._over = bool(record.done[0])

    def told(self) -> Timeline | None:
        """None before the first step."""
        if not self._spread:
            return None
        return Timeline(
            self._providers, tuple(self._spread), tuple(self._origin), tuple(self._asked), self._period_ms
        )
