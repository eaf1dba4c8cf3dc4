"""What one generation of the configuration offers: its sources, its tasks, and who may answer a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from broker.errors import InvalidRequest, PreconditionFailed, Unavailable
from broker.providers.interface import Provider
from broker.routing.interface import Candidate, Need, Plan, Step, Strategy
from broker.setup.task_folder import TaskFolder
from protos.types import AskOptions, Constraints, GuidanceKind, ProviderInfo, ProviderState, StateScope

PINNED = "pinned"
OTHER_TASK = "other"
ROW_BY_ROW = frozenset(GuidanceKind) - {GuidanceKind.ACTION, GuidanceKind.CHUNK}
"""Kinds that stand in batches of one row."""


@dataclass(slots=True, eq=False)
class Source:
    """One configured source. ``generation``: the configuration's, when it was last configured anew."""

    provider: Provider
    generation: int
    final_cap_ms: int
    cached: bool = False
    coalesced: bool = False
    draining: bool = False
    pinned: Plan = field(init=False)

    def __post_init__(self) -> None:
        self.pinned = Plan(PINNED, (Step(self.provider.info.provider_id, 0.0, "named by the caller"),))

    @property
    def info(self) -> ProviderInfo:
        return self.provider.info

    @property
    def state(self) -> ProviderState:
        return ProviderState.DRAINING if self.draining else self.provider.state

    @property
    def keyed(self) -> bool:
        """Whether its answers may be shared: a source that remembers is never cached nor coalesced."""
        return (self.cached or self.coalesced) and self.info.state_scope is StateScope.NONE

    @property
    def row_by_row(self) -> bool:
        return bool(self.info.guidance_kinds & ROW_BY_ROW)


@dataclass(frozen=True, slots=True)
class TaskRoute:
    """How one task's queries find a source. ``constraints`` are pushed to whoever works on the task."""

    task: str
    strategy: Strategy
    providers: tuple[str, ...]
    fallback: str = ""
    folder: TaskFolder | None = None
    constraints: Constraints | None = None

    @property
    def members(self) -> tuple[str, ...]:
        """The route's sources, the fallback among them."""
        extra = (self.fallback,) if self.fallback and self.fallback not in self.providers else ()
        return self.providers + extra


@dataclass(frozen=True, slots=True)
class Catalogue:
    generation: int
    sources: Mapping[str, Source]
    routes: Mapping[str, TaskRoute]
    observe: Callable[[Source], Candidate]
    _found: dict[tuple[str, str], Source] = field(default_factory=dict)

    def route(self, task: str) -> TaskRoute:
        route = self.routes.get(task)
        if route is None:
            raise InvalidRequest(
                "task: is not configured here; ask ListProviders for what is", "UNKNOWN_TASK", "task"
            )
        return route

    def label(self, task: str) -> str:
        """The task's name if it is configured: labels of metrics come from the configuration only."""
        return task if task in self.routes else OTHER_TASK

    def serving(self, task: str) -> list[Source]:
        """Every source that a query of the task may name, those of its route first."""
        named = list(self.route(task).members)
        named += [name for name, source in self.sources.items() if task in source.info.tasks]
        return [self.sources[name] for name in dict.fromkeys(named)]

    def final_cap_ms(self, task: str, options: AskOptions) -> int:
        """The longest final clock that the sources in question allow."""
        if options.provider_id:
            return self._named(task, options.provider_id).final_cap_ms
        return max(self.sources[name].final_cap_ms for name in self.route(task).providers)

    def plan(self, task: str, options: AskOptions, time_left_s: float) -> Plan:
        """Who is to be asked, in order. Raises for a source that was named and cannot be asked."""
        if options.provider_id:
            return self._pinned(task, options)
        route = self.route(task)
        candidates = [self.observe(self.sources[name]) for name in route.members]
        need = Need(options.hold_steps, time_left_s, options.max_price_usd)
        return route.strategy.plan(need, candidates)

    def _pinned(self, task: str, options: AskOptions) -> Plan:
        source = self._named(task, options.provider_id)
        if source.state is not ProviderState.READY:
            message = f"the source is {source.state.name.lower()}; ask another one or come back"
            raise Unavailable(message, "PROVIDER_NOT_READY", retry_after_ms=1000)
        if options.hold_steps and not source.info.leasable:
            raise PreconditionFailed("options.hold_steps: this source grants no leases", "NOT_LEASABLE")
        if options.kinds and not options.kinds & source.info.guidance_kinds:
            raise PreconditionFailed("options.kinds: this source gives none of them", "KIND_NOT_OFFERED")
        price = source.info.price.estimate(options.hold_steps)
        if options.max_price_usd is not None and price > options.max_price_usd:
            message = f"options.max_price_usd: this source is listed at {price} USD a row"
            raise PreconditionFailed(message, "PRICE_ABOVE_LIMIT", "options.max_price_usd")
        return source.pinned

    def _named(self, task: str, provider_id: str) -> Source:
        found = self._found.get((task, provider_id))
        if found is None:
            found = self._found[task, provider_id] = self._find(task, provider_id)
        return found

    def _find(self, task: str, provider_id: str) -> Source:
        source = self.sources.get(provider_id)
        route = self.route(task)
        known = source is not None and (provider_id in route.members or task in source.info.tasks)
        if source is None or not known:
            message = "options.provider_id: no such source for this task; see ListProviders"
            raise InvalidRequest(message, "UNKNOWN_PROVIDER", "options.provider_id")
        return source
