"""One rollout of a head in training: the control loop on the virtual clock, its columns kept to learn by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from agents.normalise import RunningNorm
from meta_policy.cost import Costs
from meta_policy.decision.categorical import log_prob, log_softmax
from meta_policy.decision.features import Features
from meta_policy.decision.head import drawn, masked
from meta_policy.loop import Loop, StepRecord, without_waiting
from meta_policy.training.learner import Networks
from meta_policy.view import Counts, Flags, Floats, LaneView

Float = NDArray[np.float32]


def utility_of(record: StepRecord, costs: Costs) -> Floats:
    """What a step was worth to each lane, `[B]`, in return."""
    exchange = record.exchange
    return costs.utility(
        record.reward,
        exchange.price_usd,
        exchange.guided,
        record.switched,
        exchange.wait_ms,
        record.view.beta,
    )


class Columns:
    """T control steps of B lanes, `[T, B, ...]`; `following` is the value of where each step led."""

    def __init__(self, steps: int, lanes: int, features: int, moves: int) -> None:
        shape = (steps, lanes)
        self.raw = np.zeros((*shape, features), np.float32)
        self.seen = np.zeros((*shape, features), np.float32)
        self.legal = np.zeros((*shape, moves), np.bool_)
        self.move = np.zeros(shape, np.int64)
        self.log_prob = np.zeros(shape, np.float32)
        self.value = np.zeros(shape)
        self.following = np.zeros(shape)
        self.utility = np.zeros(shape)
        self.terminated = np.zeros(shape, np.bool_)
        self.truncated = np.zeros(shape, np.bool_)
        self.guided = np.zeros(shape, np.bool_)


class SamplingDecider:
    """Draws moves from the head as it stands and remembers what the learner will need about them."""

    def __init__(
        self, features: Features, networks: Networks, norm: RunningNorm, rng: np.random.Generator
    ) -> None:
        self.features, self.networks, self.norm, self.rng = features, networks, norm, rng

    def see(self, view: LaneView) -> tuple[Float, Float]:
        """Features as they are and normalised, `[B, F]` each."""
        raw = self.features(view)
        return raw, self.norm.normalise(raw).astype(np.float32)

    def decide(self, view: LaneView, legal: Flags) -> Counts:
        self.raw, self.seen = self.see(view)
        log_p = log_softmax(masked(self.networks.actor(self.seen)[0], legal))
        move = drawn(log_p, self.rng)
        self.log_prob = log_prob(log_p, move)
        self.value = self.networks.value(self.seen)
        return move


class Rollout:
    """Goes on from where the last rollout stopped. A finished lane at once begins an episode with a fresh
    seed and a fresh beta, both drawn by `episode`."""

    def __init__(
        self,
        loop: Loop,
        decider: SamplingDecider,
        costs: Costs,
        unit: float,
        episode: Callable[[], tuple[int, float]],
    ) -> None:
        self.loop, self.decider, self.costs, self.unit, self.episode = loop, decider, costs, unit, episode
        count = len(loop.lanes)
        self.running_return = np.zeros(count)
        self.returns: list[float] = []
        self._begin(np.arange(count))

    def collect(self, columns: Columns) -> None:
        """Fill every row of `columns`. `returns` gains the raw return of every episode that ended."""
        for t in range(len(columns.utility)):
            record = without_waiting(self.loop.step(self.decider))
            self._write(columns, t, record)
            if t > 0:
                columns.following[t - 1] = self._led_to(columns, t - 1, columns.value[t])
            self._finish(columns, t, record)
        columns.following[-1] = self._led_to(columns, -1, self._value_now())

    def _write(self, columns: Columns, t: int, record: StepRecord) -> None:
        decider, exchange = self.decider, record.exchange
        columns.raw[t], columns.seen[t], columns.legal[t] = decider.raw, decider.seen, record.legal
        columns.move[t], columns.log_prob[t], columns.value[t] = record.move, decider.log_prob, decider.value
        columns.utility[t] = utility_of(record, self.costs) / self.unit
        columns.terminated[t], columns.truncated[t] = record.terminated, record.truncated
        columns.guided[t] = exchange.guided
        self.running_return += record.reward

    def _led_to(self, columns: Columns, t: int, value: np.ndarray) -> np.ndarray:
        """A truncated episode led to its own last observation, valued when it ended, not to the next one."""
        return np.where(columns.truncated[t], columns.following[t], value)

    def _finish(self, columns: Columns, t: int, record: StepRecord) -> None:
        over = np.flatnonzero(record.done)
        if not over.size:
            return
        if record.truncated.any():
            columns.following[t] = self._value_now()
        self.returns += self.running_return[over].tolist()
        self._begin(over)

    def _value_now(self) -> np.ndarray:
        _, seen = self.decider.see(self.loop.look())
        return self.decider.networks.value(seen)

    def _begin(self, lanes: Counts) -> None:
        self.running_return[lanes] = 0.0
        drawn_episodes = [self.episode() for _ in lanes]
        seeds = np.array([seed for seed, _ in drawn_episodes])
        betas = np.array([beta for _, beta in drawn_episodes])
        without_waiting(self.loop.begin(lanes, seeds, betas))
