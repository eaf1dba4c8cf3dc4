"""The outermost layer of an attempt: the source's timeout or the call's deadline ends it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from broker.calling.layer import ImmediateLayer, Layer
from broker.clock import Clock
from broker.outcomes import AttemptOutcome
from broker.providers.interface import Call, Guided, Immediate, Provider, ProviderError
from broker.timers.alarms import Alarms
from protos.types import Query


class Timeout(Layer):
    """Cancels what runs late and says so as ``deadline``; being cancelled from outside stays a cancellation.

    A source that raises CancelledError though nobody cancelled it is at fault: let through, it would look
    like the caller's own wish and leave the caller without any answer.
    """

    def __init__(self, inner: Provider, clock: Clock, alarms: Alarms) -> None:
        super().__init__(inner)
        self._clock = clock
        self._alarms = alarms

    async def guide(self, query: Query, call: Call) -> Guided:
        now, timeout_ms = self._clock.now(), self._inner.info.timeout_ms
        ends_at = min(call.deadline, now + timeout_ms / 1000) if timeout_ms else call.deadline
        if ends_at <= now:
            raise ProviderError(AttemptOutcome.DEADLINE, "no time was left")
        cut = _Cut()
        alarm = self._alarms.at(ends_at, cut)
        try:
            return await self._inner.guide(query, replace(call, deadline=ends_at))
        except asyncio.CancelledError:
            if cut.from_outside():
                raise
            if cut.fired:
                raise ProviderError(AttemptOutcome.DEADLINE, "cut at its deadline") from None
            raise ProviderError(AttemptOutcome.PROVIDER_FAULT, "the source cancelled itself") from None
        finally:
            alarm.cancel()
            cut.undo()


class _Cut:
    """Cancels the task that made it, and tells its own cancellation from others', as asyncio.timeout does."""

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "an attempt runs in a task"
        self._task = task
        self._before = task.cancelling()
        self._undone = False
        self.fired = False

    def __call__(self) -> None:
        self.fired = True
        self._task.cancel()

    def from_outside(self) -> bool:
        """Whether somebody else wants the task to end."""
        return self._task.cancelling() - self.fired > self._before

    def undo(self) -> None:
        """Take the own cancellation back."""
        if self.fired and not self._undone:
            self._undone = True
            self._task.uncancel()


class ImmediateTimeout(ImmediateLayer, Timeout):
    """The same around a source that answers some queries without waiting: those need no timer."""

    def __init__(self, inner: Provider, immediate: Immediate, clock: Clock, alarms: Alarms) -> None:
        Timeout.__init__(self, inner, clock, alarms)
        self._immediate = immediate


def timed(inner: Provider, clock: Clock, alarms: Alarms) -> Provider:
    """``inner`` under its timeout; a source that never waits needs none and is returned as it is."""
    if isinstance(inner, Immediate):
        return inner if inner.never_waits else ImmediateTimeout(inner, inner, clock, alarms)
    return Timeout(inner, clock, alarms)
