"""What the agents are doing right now, added up for a person who watches."""

from __future__ import annotations

import time
from collections import deque
from types import TracebackType

import numpy as np

from meta_policy.demo.drawing import Agent, Display, Frame
from meta_policy.evaluation.first_guidance import FirstGuidance
from meta_policy.loop import StepRecord

RECENT = 512  # first guidances that quantiles are taken over


class Tally:
    """Adds up what every lane does, step by step: a watch for `play`."""

    def __init__(self, names: list[str], provider_ids: tuple[str, ...], period_ms: float) -> None:
        count = len(names)
        self._names, self._ids = names, provider_ids
        self._first = FirstGuidance(count, period_ms)
        self._recent: list[deque[float]] = [deque(maxlen=RECENT) for _ in names]
        self._steps, self._guided, self._episodes, self._missed = np.zeros((4, count), np.int64)
        self._return, self._spend = np.zeros((2, count))
        self._over = np.zeros(count, np.bool_)
        self._asks = np.zeros((count, len(provider_ids)), np.int64)

    def __call__(self, record: StepRecord) -> None:
        active, exchange = record.active, record.exchange
        self._return[self._over & active] = 0.0
        self._return += np.where(active, record.reward, 0.0)
        self._over = record.done & active
        self._steps += active
        self._guided += active & (record.origin >= 0)
        self._spend += np.where(active, exchange.price_usd, 0.0)
        self._missed += active & record.missed
        self._episodes += self._over
        opened = np.flatnonzero(active & (record.request.opens >= 0))
        self._asks[opened, record.request.opens[opened]] += 1
        first = self._first.observe(record.request, exchange)
        for lane in np.flatnonzero(np.isfinite(first)):
            self._recent[lane].append(float(first[lane]))

    def agents(self) -> list[Agent]:
        """The figures as they stand."""
        return [self._agent(lane) for lane in range(len(self._names))]

    def _agent(self, lane: int) -> Agent:
        recent = self._recent[lane]
        p50, p95 = np.quantile(recent, (0.5, 0.95)).tolist() if recent else (None, None)
        return Agent(
            self._names[lane],
            int(self._episodes[lane]),
            float(self._return[lane]),
            int(self._steps[lane]),
            int(self._guided[lane]),
            float(self._spend[lane]),
            int(self._missed[lane]),
            dict(zip(self._ids, self._asks[lane].tolist(), strict=True)),
            p50,
            p95,
        )


class Pace:
    """Shows a tally on a display as often as the display likes."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._next = 0.0
        self.note = ""

    def __enter__(self) -> Pace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.close()

    def say(self, line: str) -> None:
        """A line that stays."""
        self._display.say(line)

    def offer(self, title: str, tally: Tally) -> None:
        """Show the tally if it is time."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._display.every_s
            self._display.show(Frame(title, tally.agents(), self.note))
