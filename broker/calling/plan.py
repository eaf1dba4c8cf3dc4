"""Follows a plan: attempts in order, then a source that cools but is back in time, then the fallback."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from broker.calling.interface import Called
from broker.calling.reserve import ExtraAttempts, reserve_s
from broker.clock import Clock
from broker.errors import BrokerError, DeadlineReached, OverBudget, Unavailable
from broker.events import AttemptEnded, AttemptStarted, Event
from broker.outcomes import AttemptOutcome
from broker.providers.interface import Call, Guided, Immediate, Provider, ProviderError
from broker.routing.interface import Plan, Records
from protos.types import Query

RETRY_HINT_MS = 1000  # where no source has said when it is back
INSTANTLY = 1e-9


@dataclass(slots=True)
class _Ask:
    """One ask while its plan is followed."""

    plan: Plan
    query: Query
    call: Call
    attempts: int = 0
    said: tuple[Guided, str] | None = None  # the last completed call that gave nothing usable, and whose
    refused: BrokerError | None = None  # the last attempt that the broker itself called off


class PlanFollower:
    """A :class:`broker.calling.interface.Caller`.

    ``sources`` are the layered sources by id, read anew at every attempt. ``max_attempts`` bounds one ask,
    the fallback included; an attempt is taken when it is scheduled.
    """

    def __init__(
        self,
        sources: Mapping[str, Provider],
        records: Records,
        clock: Clock,
        emit: Callable[[Event], None],
        max_attempts: int = 3,
        extra: ExtraAttempts | None = None,
    ) -> None:
        self._sources = sources
        self._records = records
        self._clock = clock
        self._emit = emit
        self._max_attempts = max_attempts
        self._extra = extra or ExtraAttempts(share=0.1)

    async def follow(self, plan: Plan, query: Query, call: Call) -> Called:
        self._extra.asked()
        ask = _Ask(plan, query, call)
        for provider_id in self._in_order(ask):
            called = await self._attempt(ask, provider_id, kept_for_fallback=True)
            if called is not None:
                return called
        called = await self._wait_for_cooling(ask) or await self._fall_back(ask)
        if called is not None:
            return called
        if ask.said is None:
            raise self._failure(ask)
        guided, provider_id = ask.said
        return Called(guided, provider_id, call.bill.usd, ask.attempts)

    def follow_now(self, plan: Plan, query: Query, call: Call) -> Called | None:
        """Only free sources are tried here: one that fails is asked again by :meth:`follow`, at no cost."""
        source = self._sources.get(plan.attempts[0].provider_id) if plan.attempts else None
        # a Protocol's isinstance costs as much as a rule
        if source is None or not hasattr(source, "guide_now") or not source.info.price.free:
            return None
        immediate = cast(Immediate, source)
        if not immediate.answers_now(query):
            return None
        provider_id = source.info.provider_id
        began_at = self._begin(provider_id, query.rows)
        try:
            guided = immediate.guide_now(query, call)
        except Exception as error:
            self._end(provider_id, began_at, query.rows, _as_provider_error(error))
            return None
        self._end(provider_id, began_at, query.rows, guided)
        alone = len(plan.attempts) == 1 and not plan.fallback
        if not guided.outcome.usable and not alone:
            return None
        self._extra.asked()
        return Called(guided, provider_id)

    # ---------------------------------------------------------------- whom to try

    def _in_order(self, ask: _Ask) -> Iterator[str]:
        """The plan's attempts, as far as the budgets go. One attempt is kept for the fallback."""
        most = self._max_attempts - bool(ask.plan.fallback)
        for step in ask.plan.attempts:
            if ask.attempts >= most or (ask.attempts and not self._extra.take()):
                return
            yield step.provider_id

    async def _wait_for_cooling(self, ask: _Ask) -> Called | None:
        """Wait for the source that is back first, if that is within the ask's time, and try it."""
        if ask.attempts >= self._max_attempts - bool(ask.plan.fallback):
            return None
        back = self._back_first(ask)
        if back is None:
            return None
        provider_id, available_at = back
        source = self._sources.get(provider_id)
        if source is None or available_at >= ask.call.deadline - self._reserve_s(ask, source):
            return None
        await self._clock.sleep_until(available_at)
        return await self._attempt(ask, provider_id, kept_for_fallback=True)

    def _back_first(self, ask: _Ask) -> tuple[str, float] | None:
        ids = {*ask.plan.cooling, *(step.provider_id for step in ask.plan.attempts)}
        now = self._clock.now()
        ends = [(self._records.of(provider_id).available_at, provider_id) for provider_id in ids]
        available_at, provider_id = min((end for end in ends if end[0] > now), default=(0.0, ""))
        return (provider_id, available_at) if provider_id else None

    async def _fall_back(self, ask: _Ask) -> Called | None:
        tried = {step.provider_id for step in ask.plan.attempts}
        if not ask.plan.fallback or ask.plan.fallback in tried or ask.attempts >= self._max_attempts:
            return None
        called = await self._attempt(ask, ask.plan.fallback, kept_for_fallback=False)
        return None if called is None else replace(called, degraded=True)

    # ---------------------------------------------------------------- one attempt

    async def _attempt(self, ask: _Ask, provider_id: str, *, kept_for_fallback: bool) -> Called | None:
        """A usable reply, or None with what happened noted on the ask."""
        source = self._sources.get(provider_id)
        if source is None:
            return None  # removed since the plan was made
        deadline = ask.call.deadline - (self._reserve_s(ask, source) if kept_for_fallback else 0.0)
        now = self._clock.now()
        if now + max(INSTANTLY, self._records.of(provider_id).latency(now).p50_ms / 1000) > deadline:
            return None  # it could not finish
        ask.attempts += 1
        began_at = self._begin(provider_id, ask.query.rows)
        ended: Guided | ProviderError = ProviderError(AttemptOutcome.CANCELLED)
        try:
            ended = await source.guide(ask.query, replace(ask.call, deadline=deadline))
        except BrokerError as error:
            ask.refused = error
            return None
        except Exception as error:
            ended = _as_provider_error(error)
        finally:
            self._end(provider_id, began_at, ask.query.rows, ended)
        if isinstance(ended, ProviderError):
            return None
        if not ended.outcome.usable:
            ask.said = ended, provider_id
            return None
        return Called(ended, provider_id, ask.call.bill.usd, ask.attempts)

    def _begin(self, provider_id: str, rows: int) -> float:
        self._records.started(provider_id)
        self._emit(AttemptStarted(provider_id, rows))
        return self._clock.now()

    def _end(self, provider_id: str, began_at: float, rows: int, ended: Guided | ProviderError) -> None:
        seconds = self._clock.now() - began_at
        retry_after_ms, detail = None, ""
        if isinstance(ended, ProviderError):
            retry_after_ms, detail = ended.retry_after_ms, str(ended)
        self._records.ended(provider_id, ended.outcome, seconds, retry_after_ms)
        self._emit(AttemptEnded(provider_id, ended.outcome, seconds, rows, detail))

    def _reserve_s(self, ask: _Ask, source: Provider) -> float:
        if not ask.plan.fallback:
            return 0.0
        now = self._clock.now()
        p99_s = self._records.of(ask.plan.fallback).latency(now).p99_ms / 1000
        return reserve_s(source.info.kind, ask.call.deadline - now, p99_s)

    # ---------------------------------------------------------------- nothing usable

    def _failure(self, ask: _Ask) -> BrokerError:
        """What the caller is told where no call completed."""
        now = self._clock.now()
        if isinstance(ask.refused, OverBudget):
            return ask.refused
        if now >= ask.call.deadline:
            return DeadlineReached("no source answered within the ask's time")
        if ask.refused is not None:
            return ask.refused
        back = self._back_first(ask)
        hint_ms = RETRY_HINT_MS if back is None else max(1, round((back[1] - now) * 1000))
        return Unavailable(_words(ask.plan), retry_after_ms=hint_ms)


def _words(plan: Plan) -> str:
    tried = [f"{step.provider_id}: gave no answer" for step in plan.attempts]
    kept_out = [f"{step.provider_id}: {step.why}" for step in plan.excluded]
    return "no source can answer now (" + ("; ".join(tried + kept_out) or "the route has none") + ")"


def _as_provider_error(error: Exception) -> ProviderError:
    if isinstance(error, ProviderError):
        return error
    return ProviderError(AttemptOutcome.PROVIDER_FAULT, f"{type(error).__name__}: {error}")
