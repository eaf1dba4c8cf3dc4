"""THE STORY: one control step of all lanes, from what they see to what it brought, on any transport.

    tick -> send what is certain -> look (own policy, values, provider table) -> decide
         -> exchange with the guide -> act -> settle

A lease opened at step t with hold H sends the observations of t ... t+H-1. Lanes that hold a lease take no
new decision but may drop it at its reviews.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from agents.policy_file import Policy
from agents.tasks.generator import load_generator, pack_generator
from meta_policy.decider import Decider
from meta_policy.guide import Exchange, Guide, Request
from meta_policy.lanes import Lanes
from meta_policy.moves import ALONE, DROP, MoveSet
from meta_policy.view import NEVER, Counts, Flags, Floats, LaneView

T = TypeVar("T")
COLUMNS = ("beta", "budget_left", "lease_provider", "lease_left", "lease_age")
COLUMNS += ("last_provider", "last_age", "origin", "since_switch")


@dataclass(frozen=True, slots=True)
class Rules:
    """What the loop itself enforces: the control period, the dwell between switches, reviews of a lease."""

    period_ms: float
    dwell: int = 1
    review_every: int = 5
    budget_usd: float = float("inf")  # an episode


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step of all lanes, `[B]` each; rows that were not `active` mean nothing. `view` came before it."""

    view: LaneView
    legal: Flags  # [B, M]
    move: Counts
    request: Request
    exchange: Exchange
    origin: Counts  # of the executed action, -1 own
    switched: Flags
    reward: Floats
    terminated: Flags
    truncated: Flags
    missed: int  # control ticks, since the step before

    @property
    def active(self) -> Flags:
        return self.view.active

    @property
    def decided(self) -> Flags:
        """[B]: there was more than one legal move."""
        return self.legal.sum(axis=1) > 1

    @property
    def done(self) -> Flags:
        return self.terminated | self.truncated


class Loop:
    """Lanes, the frozen executor they act by, and a guide. An episode is begun with its seed and its beta."""

    def __init__(
        self, lanes: Lanes, own: Policy, guide: Guide, moves: MoveSet, rules: Rules, seed: int = 0
    ) -> None:
        self.lanes, self.own, self.guide, self.moves, self.rules = lanes, own, guide, moves, rules
        self.rng = np.random.default_rng(seed)
        count = len(lanes)
        self.beta: Floats = np.zeros(count)
        self.budget_left: Floats = np.full(count, rules.budget_usd)
        self.lease_provider: Counts = np.full(count, -1)
        self.lease_left: Counts = np.zeros(count, np.int64)
        self.lease_age: Counts = np.zeros(count, np.int64)
        self.last_provider: Counts = np.full(count, -1)
        self.last_age: Counts = np.full(count, NEVER)
        self.origin: Counts = np.full(count, -1)
        self.since_switch: Counts = np.full(count, NEVER)
        self._entropy = np.full(count, own.entropy())

    def get_state(self) -> dict[str, np.ndarray]:
        """What the loop itself remembers of its lanes; lanes and guide keep their own."""
        return {name: getattr(self, name).copy() for name in COLUMNS} | {"rng": pack_generator(self.rng)}

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `get_state` gave."""
        for name in COLUMNS:
            getattr(self, name)[:] = state[name]
        load_generator(self.rng, state["rng"])

    async def begin(self, lanes: Counts, seeds: Counts, beta: Floats) -> None:
        """Start episodes: `lanes`, `seeds`, `beta` `[N]`."""
        for lane, seed in zip(lanes.tolist(), seeds.tolist(), strict=True):
            self.lanes.begin(lane, seed)
        self.beta[lanes] = beta
        self.budget_left[lanes] = self.rules.budget_usd
        self.lease_provider[lanes] = self.last_provider[lanes] = self.origin[lanes] = -1
        self.lease_left[lanes] = self.lease_age[lanes] = 0
        self.last_age[lanes] = self.since_switch[lanes] = NEVER
        await self.guide.begin(lanes, seeds)

    def look(self) -> LaneView:
        """What the lanes know now, without a call to anyone."""
        seen = self.lanes.observation.copy()
        normalised = self.own.normalise(seen)
        own = np.clip(self.own.actor(normalised)[0], self.own.low, self.own.high)
        return LaneView(
            active=self.lanes.active.copy(),
            step=self.lanes.step_count.copy(),
            observation=seen,
            seen=normalised,
            own_action=own,
            values=self.own.values(seen),
            entropy=self._entropy,
            providers=self.guide.providers,
            period_ms=self.rules.period_ms,
            lease_provider=self.lease_provider.copy(),
            lease_left=self.lease_left.copy(),
            lease_age=self.lease_age.copy(),
            last_provider=self.last_provider.copy(),
            last_age=self.last_age.copy(),
            origin=self.origin.copy(),
            since_switch=self.since_switch.copy(),
            budget_left=self.budget_left.copy(),
            beta=self.beta.copy(),
            rng=self.rng,
        )

    async def step(self, decider: Decider) -> StepRecord:
        """One control step of every lane."""
        missed = await self.guide.tick()
        await self.guide.ahead(self._certain(), self.lanes.step_count, self.lanes.observation)
        view = self.look()
        legal = self.moves.mask(view, self.rules.dwell, self.rules.review_every)
        move = decider.decide(view, legal)
        request = self._open(view, legal, move)
        exchange = await self.guide.exchange(request)
        action = np.where(exchange.guided[:, None], exchange.action, view.own_action)
        reward, terminated, truncated = self.lanes.step(self.guide.constrain(action))
        await self.guide.settle(reward)
        origin = np.where(exchange.guided, exchange.provider, -1)
        switched = self._advance(origin, exchange)
        over = np.flatnonzero(terminated | truncated)
        if over.size:
            await self.guide.end(over, truncated[over])
        return StepRecord(
            view,
            legal,
            move,
            request,
            exchange,
            origin,
            switched,
            reward,
            terminated,
            truncated,
            missed,
        )

    def _certain(self) -> Counts:
        """The provider whose lease covers this step whatever is decided `[B]`, -1 where none or reviewed."""
        running = self.lanes.active & (self.lease_left > 0)
        if self.rules.review_every > 0:
            running &= (self.lease_age == 0) | (self.lease_age % self.rules.review_every != 0)
        return np.where(running, self.lease_provider, -1)

    def _open(self, view: LaneView, legal: Flags, move: Counts) -> Request:
        """Turn moves into what is sent. An illegal move is a fault of the decider: ValueError."""
        if not legal[np.arange(len(move)), move].all():
            row = int(np.flatnonzero(~legal[np.arange(len(move)), move])[0])
            raise ValueError(f"lane {row}: move {self.moves.name(int(move[row]))} is not legal now")
        dropped = move == DROP
        self.lease_left[dropped] = 0
        opens = self.moves.provider[move]
        asked = move > DROP
        self.lease_provider[asked] = opens[asked]
        self.lease_left[asked] = self.moves.hold[move][asked]
        self.lease_age[asked] = 0
        serves = np.where((self.lease_left > 0) & view.active, self.lease_provider, -1)
        return Request(
            view.active, view.step, view.observation, opens, self.moves.hold[move], serves, dropped
        )

    def _advance(self, origin: Counts, exchange: Exchange) -> Flags:
        """Move leases, ages and the budget on by one step; which lanes switched comes back."""
        self.budget_left -= exchange.price_usd
        self.lease_left[:] = np.where(exchange.broken, 0, np.maximum(self.lease_left - 1, 0))
        self.lease_age += 1
        self.lease_provider[self.lease_left == 0] = -1
        guided = origin >= 0
        self.last_provider[guided] = origin[guided]
        self.last_age[:] = np.where(guided, 1, np.minimum(self.last_age + 1, NEVER))
        switched = origin != self.origin
        self.since_switch[:] = np.where(switched, 1, np.minimum(self.since_switch + 1, NEVER))
        self.origin[:] = origin
        return switched


def without_waiting(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, as all do over a virtual guide; RuntimeError if it does."""
    try:
        work.send(None)
    except StopIteration as finished:
        result: T = finished.value
        return result
    work.close()
    raise RuntimeError("this guide waits for something: run it in an event loop")


Watch = Callable[[StepRecord], None]
__all__ = ["ALONE", "Loop", "Rules", "StepRecord", "Watch", "without_waiting"]
