"""When answers came and what they cost, as the control loop sees it: from the start of a control step."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

import numpy as np

from meta_policy.view import Counts, Floats
from protos.types import Answer

REMEMBERED = 256
"""Steps whose start is remembered a lane; an answer to an older one has no latency."""

WINDOW = 512
"""Answers that the live quantiles are taken over."""


class Arrivals:
    """Hears every answer of a session, late ones too. `taken_ms` has all latencies, in order, by provider."""

    def __init__(self, provider_ids: Sequence[str], lanes: int) -> None:
        self.latency_ms: Floats = np.full(lanes, np.nan)  # of the answer to the lane's current step
        self.window: dict[str, deque[float]] = {name: deque(maxlen=WINDOW) for name in provider_ids}
        self.taken_ms: dict[str, list[float]] = {name: [] for name in provider_ids}
        self._charged: Floats = np.zeros(lanes)
        self._began = np.full((lanes, REMEMBERED), np.nan)
        self._step_of = np.full((lanes, REMEMBERED), -1)
        self._current: Counts = np.full(lanes, -1)
        self._lanes = np.arange(lanes)

    def begin_step(self, step: Counts, began: float) -> None:
        """The observations of `step` `[B]` were taken at `began` (monotonic seconds)."""
        slots = step % REMEMBERED
        self._began[self._lanes, slots] = began
        self._step_of[self._lanes, slots] = step
        self._current[:] = step
        self.latency_ms[:] = np.nan

    def take(self, answer: Answer) -> None:
        """One answer of B rows, at the moment it is read."""
        now = time.monotonic()
        name = answer.provider_ids[0] if answer.provider_ids else ""
        prices = answer.prices_usd
        for row, (lane, step) in enumerate(zip(answer.lanes, answer.steps, strict=True)):
            if prices:
                self._charged[lane] += prices[row]
            slot = step % REMEMBERED
            if answer.guidance is None or self._step_of[lane, slot] != step:
                continue
            ms = (now - self._began[lane, slot]) * 1000
            self._step_of[lane, slot] = -1  # an answer counts once
            if self._current[lane] == step:
                self.latency_ms[lane] = ms
            if name in self.window:
                self.window[name].append(ms)
                self.taken_ms[name].append(ms)

    def charged_usd(self) -> Floats:
        """What each lane was charged since the last call `[B]`. A late answer counts where it comes."""
        charged = self._charged.copy()
        self._charged[:] = 0.0
        return charged
