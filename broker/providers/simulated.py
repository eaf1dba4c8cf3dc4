"""A source with the latency, the price and the faults one wants: wraps another, or gives a constant action.

Everything random comes from one generator seeded by the configuration, in the order of the calls. The drawn
latency is of the whole call: what the wrapped source takes itself is part of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import numpy as np
from pydantic import model_validator

from broker.config import Fraction, Many, ProviderSettings
from broker.outcomes import AttemptOutcome
from broker.providers.degradations import Dead, Degradation, OfActions, Slow
from broker.providers.interface import Call, Guided, Provider, ProviderError
from broker.providers.latency import Constant, Latency
from broker.providers.making import Making, SetupError
from protos.types import (
    ActionAdvice,
    BoxAction,
    Chunk,
    Guidance,
    GuidanceKind,
    ProviderInfo,
    ProviderKind,
    ProviderState,
    Query,
)

NO_LATENCY = Constant(distribution="constant", value_ms=0.0)


class SimulatedSettings(ProviderSettings):
    """Give either ``wraps``, another source's id, or ``answer``, one constant action."""

    wraps: str = ""
    answer: Many[float] = ()
    latency: Latency = NO_LATENCY
    error_rate: Fraction = 0.0
    degradation: Degradation | None = None
    seed: int = 0

    @model_validator(mode="after")
    def _one_origin(self) -> SimulatedSettings:
        if bool(self.wraps) == bool(self.answer):
            raise ValueError("give either wraps or answer")
        return self

    def references(self) -> tuple[str, ...]:
        return (self.wraps,) if self.wraps else ()


@dataclass(frozen=True, slots=True)
class ConstantSource:
    """The same action for every row; what a simulated source without ``wraps`` stands on."""

    info: ProviderInfo
    answer: tuple[float, ...]
    state: ProviderState = ProviderState.READY

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def guide(self, query: Query, call: Call) -> Guided:
        actions = np.tile(np.asarray(self.answer, np.float32), (query.rows, 1))
        return Guided(AttemptOutcome.OK, ActionAdvice(actions))


class SimulatedProvider:
    """Starts and closes nothing: the wrapped source has a life of its own."""

    def __init__(self, settings: SimulatedSettings, inner: Provider, making: Making) -> None:
        self._settings = settings
        self._inner = inner
        self._clock = making.clock
        self._rng = np.random.default_rng(settings.seed)
        self._bias: np.ndarray | None = None
        self._inner_info: ProviderInfo | None = None
        self._info = inner.info

    @property
    def info(self) -> ProviderInfo:
        """What the wrapped source says, under this source's own name, price and limits."""
        if self._inner.info is not self._inner_info:  # a remote source learns its own at start
            self._inner_info = self._inner.info
            self._info = self._renamed(self._inner.info)
        return self._info

    def _renamed(self, inner: ProviderInfo) -> ProviderInfo:
        settings = self._settings
        return replace(
            inner,
            provider_id=settings.id,
            kind=ProviderKind.SIMULATED,
            price=settings.price.price(),
            timeout_ms=settings.timeout_ms,
            max_concurrency=settings.max_concurrency,
        )

    @property
    def state(self) -> ProviderState:
        return self._inner.state

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def guide(self, query: Query, call: Call) -> Guided:
        started = self._clock.now()
        if isinstance(self._settings.degradation, Dead):
            await asyncio.get_running_loop().create_future()
        latency_s, fails = self._draw()
        guided = await self._inner.guide(query, call)
        await self._clock.sleep_until(started + latency_s, exactly=True)
        if fails:
            raise ProviderError(AttemptOutcome.PROVIDER_FAULT, "drawn by error_rate")
        took_us = int((self._clock.now() - started) * 1e6)
        return replace(guided, guidance=self._degraded(guided.guidance), queue_us=0, provider_us=took_us)

    def _draw(self) -> tuple[float, bool]:
        """The next call's latency in seconds, and whether it fails."""
        latency_s = self._settings.latency.draw_s(self._rng)
        degradation = self._settings.degradation
        if isinstance(degradation, Slow):
            latency_s *= degradation.factor
        return latency_s, self._rng.random() < self._settings.error_rate

    def _degraded(self, guidance: Guidance | None) -> Guidance | None:
        degradation = self._settings.degradation
        if guidance is None or not isinstance(degradation, OfActions):
            return guidance
        if not isinstance(guidance, ActionAdvice | Chunk) or guidance.actions.dtype.kind != "f":
            raise ProviderError(AttemptOutcome.MISCONFIGURED, "only continuous actions can be degraded")
        centre, half = self._scale(guidance.actions.shape[-1])
        if self._bias is None:
            self._bias = np.where(
                np.random.default_rng(self._settings.seed).random(len(half)) < 0.5, -1.0, 1.0
            )
        scaled = degradation.degrade((guidance.actions - centre) / half, self._rng, self._bias)
        actions = (np.clip(scaled, -1.0, 1.0) * half + centre).astype(guidance.actions.dtype)
        return replace(guidance, actions=actions)

    def _scale(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Centre and half width of the action bounds; 0 and 1 where none are known."""
        action = self._inner.info.action
        if not isinstance(action, BoxAction) or not np.isfinite([*action.low, *action.high]).all():
            return np.zeros(size), np.ones(size)
        low, high = np.asarray(action.low), np.asarray(action.high)
        return (low + high) / 2, (high - low) / 2


def make_simulated(settings: SimulatedSettings, making: Making) -> SimulatedProvider:
    """SetupError when the wrapped source is not there or the answer does not fit the tasks."""
    if settings.wraps:
        if settings.wraps not in making.sources:
            raise SetupError("wraps", f"there is no source {settings.wraps!r} to wrap")
        return SimulatedProvider(settings, making.sources[settings.wraps], making)
    for name, folder in making.tasks.items():
        if folder.action.shape != (len(settings.answer),):
            raise SetupError("answer", f"task {name!r} needs {folder.action.shape[0]} numbers")
    folders = list(making.tasks.values())
    alone = folders[0] if len(folders) == 1 else None
    info = ProviderInfo(
        provider_id=settings.id,
        kind=ProviderKind.SIMULATED,
        guidance_kinds=frozenset({GuidanceKind.ACTION}),
        tasks=tuple(making.tasks),
        action=alone.action if alone else None,
        leasable=True,
    )
    return SimulatedProvider(settings, ConstantSource(info, settings.answer), making)
