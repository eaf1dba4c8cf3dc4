"""One rollout: act, maybe ask, step, and keep the columns apart."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from agents.networks import ActorCritic, Float
from agents.normalise import RunningNorm
from agents.ppo.losses import gaussian_log_prob
from agents.query import ALONE, Advice, Amendment, Decision, Guide, QueryPolicy, StepContext
from agents.vector import VectorEnv, VectorStep

NO_ASK = 0


class Columns:
    """What T vector steps of N lanes left behind, `[T, N, ...]`, one array a column.

    `action` is the learner's own, unclipped; `replaced` marks steps whose executed action came from guidance.
    Where that one's density is known, `behaviour_log_prob` is its log-probability under it and `divergence`
    how far its mean lies from the learner's, |(mu_guidance - mu_own) / sigma_own|^2; NaN elsewhere. Rewards
    of the environment and of guidance, and the price, are never mixed here.
    """

    def __init__(self, steps: int, lanes: int, observations: int, actions: int) -> None:
        shape = (steps, lanes)
        self.raw = np.zeros((*shape, observations))
        self.observation = np.zeros((*shape, observations), np.float32)
        self.action = np.zeros((*shape, actions), np.float32)
        self.executed = np.zeros((*shape, actions), np.float32)
        self.r_env = np.zeros(shape)
        self.r_guidance = np.zeros(shape)
        self.price_usd = np.zeros(shape)
        self.ask_id = np.zeros(shape, np.int64)
        self.choice = np.full(shape, ALONE, np.int64)
        self.replaced = np.zeros(shape, np.bool_)
        self.behaviour_log_prob = np.full(shape, np.nan, np.float32)
        self.divergence = np.full(shape, np.nan, np.float32)
        self.valid = np.ones(shape, np.bool_)
        self.terminated = np.zeros(shape, np.bool_)
        self.truncated = np.zeros(shape, np.bool_)
        self.last_observation = np.zeros((lanes, observations), np.float32)
        self.final_observations: list[Float] = []

    def amend(self, amendment: Amendment) -> bool:
        """Let a late answer replace the guidance reward of its ask's rows; False if it has none here.

        The price is the whole ask's: it stands on the first row, so that the column's sum is what was paid.
        """
        rows = np.argwhere(self.ask_id == amendment.ask_id)
        if amendment.ask_id == NO_ASK or not len(rows):
            return False
        self.r_guidance[tuple(rows.T)] = amendment.reward
        self.price_usd[tuple(rows.T)] = 0.0
        self.price_usd[tuple(rows[0])] = amendment.price_usd
        return True


@dataclass(slots=True)
class Finished:
    """Raw returns and lengths of the episodes that ended in a rollout, guidance left out."""

    returns: list[float]
    lengths: list[int]


class Rollout:
    """Collects columns from a vector environment; the statistics of `norm` stay as they are meanwhile."""

    def __init__(
        self,
        env: VectorEnv,
        networks: ActorCritic,
        norm: RunningNorm,
        noise: np.random.Generator,
        query: QueryPolicy,
        guide: Guide | None = None,
        value_unit: float = 1.0,
    ) -> None:
        self.env, self.networks, self.norm, self.noise = env, networks, norm, noise
        self.query, self.guide, self.value_unit = query, guide, value_unit
        self.observation = env.reset()
        lanes = len(self.observation)
        self.lanes = np.arange(lanes)
        self.episode_step = np.zeros(lanes, np.int64)
        self.step = 0
        self.env_seconds = 0.0
        self._no_runway = np.zeros(lanes, np.int64)

    def collect(self, columns: Columns) -> Finished:
        """Fill every row of `columns`, going on from where the last rollout stopped."""
        finished = Finished([], [])
        columns.final_observations = []
        std = np.exp(self.networks.log_std)
        for t in range(len(columns.r_env)):
            seen = self.norm.normalise(self.observation).astype(np.float32)
            mean = self.networks.mean(seen)
            own = mean + std * self.noise.standard_normal(mean.shape, dtype=np.float32)
            context = self._context(seen, own)
            decision = self._decide(context)
            executed = own if self.guide is None else self._guided(columns, t, context, decision, mean)
            started = time.perf_counter()
            outcome = self.env.step(executed)
            self.env_seconds += time.perf_counter() - started
            self._write(columns, t, seen, own, executed, decision, outcome)
            if self.guide is not None:
                columns.r_guidance[t] = self.guide.after_step(context, outcome)
            self._advance(columns, outcome, finished)
        columns.last_observation[...] = self.norm.normalise(self.observation)
        return finished

    def _context(self, seen: Float, own: Float) -> StepContext:
        reads = self.query.reads_values
        values = self.networks.values(seen).astype(np.float64) * self.value_unit if reads else None
        runway = self._no_runway if self.guide is None else self.guide.runway_steps()
        return StepContext(self.step, self.lanes, self.observation, own, self.episode_step, runway, values)

    def _decide(self, context: StepContext) -> Decision:
        """A foreign environment's reset step ignores its action: nothing is asked or charged for it."""
        decision = self.query.decide(context)
        resetting = self.env.reset_step_next
        return decision.without(resetting) if resetting.any() else decision

    def _guided(
        self, columns: Columns, t: int, context: StepContext, decision: Decision, mean: Float
    ) -> Float:
        """Send the asks, take what has arrived, and return the actions to execute."""
        assert self.guide is not None
        self.guide.submit(context, decision)
        advice: Advice = self.guide.collect(context)
        resetting = self.env.reset_step_next
        if resetting.any():
            advice = advice.without(resetting)
        columns.replaced[t] = advice.replaced
        columns.price_usd[t] = advice.price_usd
        columns.ask_id[t] = advice.ask_id
        self._write_density(columns, t, advice, mean)
        executed: Float = np.where(advice.replaced[:, None], advice.action, context.own_action)
        return executed

    def _write_density(self, columns: Columns, t: int, advice: Advice, mean: Float) -> None:
        columns.behaviour_log_prob[t] = columns.divergence[t] = np.nan
        if advice.density is None:
            return
        d = advice.density
        known = d.known & advice.replaced
        log_std = np.log(np.where(known[:, None], d.std, 1.0)).astype(np.float32)
        apart = (d.mean - mean) * np.exp(-self.networks.log_std)
        columns.behaviour_log_prob[t, known] = gaussian_log_prob(advice.action, d.mean, log_std)[known]
        columns.divergence[t, known] = np.einsum("ij,ij->i", apart, apart)[known]

    def _write(
        self,
        columns: Columns,
        t: int,
        seen: Float,
        own: Float,
        executed: Float,
        decision: Decision,
        outcome: VectorStep,
    ) -> None:
        columns.raw[t] = self.observation
        columns.observation[t] = seen
        columns.action[t] = own
        columns.executed[t] = executed
        columns.choice[t] = decision.choice
        columns.r_env[t] = outcome.reward
        columns.valid[t] = outcome.valid
        columns.terminated[t] = outcome.terminated
        columns.truncated[t] = outcome.truncated & ~outcome.terminated

    def _advance(self, columns: Columns, outcome: VectorStep, finished: Finished) -> None:
        done = outcome.terminated | outcome.truncated
        self.observation = outcome.observation
        self.step += 1
        self.episode_step = np.where(done, 0, self.episode_step + 1)
        if not done.any():
            return
        finished.returns += outcome.episode_return[done].tolist()
        finished.lengths += outcome.episode_length[done].astype(int).tolist()
        cut = outcome.truncated & ~outcome.terminated
        for row in np.flatnonzero(cut):
            columns.final_observations.append(
                self.norm.normalise(outcome.final_observation[row : row + 1])[0].astype(np.float32)
            )
