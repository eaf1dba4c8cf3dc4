"""PPO as a loop over batches: collect, scale, value, update; all that decides its future is one state."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from agents.networks import ActorCritic
from agents.normalise import ReturnScaler, RunningNorm
from agents.ppo.config import PPOConfig, require_ensemble
from agents.ppo.learner import Learner, prepare
from agents.ppo.losses import gaussian_entropy
from agents.ppo.rollout import Columns, Finished, Rollout
from agents.query import Guide, Never, QueryPolicy
from agents.schedules import Constant, Linear, Schedule
from agents.vector import VectorEnv

RECENT_EPISODES = 100
STREAMS = ("initial", "noise", "shuffle", "masks")


class Training:
    """One PPO run. Each use of chance has a stream of its own, so that none can disturb another."""

    def __init__(
        self,
        env: VectorEnv,
        config: PPOConfig,
        seed: int,
        query: QueryPolicy | None = None,
        guide: Guide | None = None,
    ) -> None:
        query = query or Never()
        if query.reads_values:
            require_ensemble(config, type(query).__name__)
        self.config, self.env = config, env
        observations, actions = env.observation_space.shape[0], env.action_space.shape[0]
        seeds = np.random.SeedSequence(seed).spawn(len(STREAMS))
        self.streams = {
            name: np.random.Generator(np.random.PCG64(s)) for name, s in zip(STREAMS, seeds, strict=True)
        }
        self.networks = ActorCritic(observations, actions, config.hidden, config.members, config.prior_scale)
        self.networks.initialise(self.streams["initial"], config.log_std_init)
        self.norm = RunningNorm((observations,))
        self.env_scale = ReturnScaler(config.gamma, config.envs)
        self.guidance_scale = ReturnScaler(config.gamma, config.envs)
        self.learner = Learner(self.networks, config, self.streams["shuffle"])
        self.rollout = Rollout(env, self.networks, self.norm, self.streams["noise"], query, guide)
        self.columns = Columns(config.rollout_steps, config.envs, observations, actions)
        self.learning_rate = _learning_rate(config)
        self.guidance_weight = Linear(
            config.guidance_weight, config.guidance_weight_end, config.guidance_weight_steps
        )
        self.steps = 0
        self.episodes = 0
        self.recent: deque[tuple[float, int]] = deque(maxlen=RECENT_EPISODES)
        self.seconds = {"rollout": 0.0, "learn": 0.0}
        self.amended = {
            True: 0,
            False: 0,
        }  # late answers of the batch that found their rows, or came too late

    def advance(self) -> dict[str, float]:
        """One batch, rollout and update. What to log about it comes back; none of it depends on the clock."""
        started = time.perf_counter()
        self.rollout.value_unit = self.env_scale.std
        finished = self.rollout.collect(self.columns)
        collected = time.perf_counter()
        rewards, weight = self._rewards()
        batch, valued = prepare(self.columns, rewards, self.networks, self.config, self.streams["masks"])
        rate = self.learning_rate.at(self.steps)
        learnt = self.learner.update(batch, rate)
        self.norm.update(self.columns.raw[self.columns.valid])
        self._count(finished)
        self.seconds["rollout"] += collected - started
        self.seconds["learn"] += time.perf_counter() - collected
        return {
            **self._episode_figures(finished),
            **self._guidance_figures(weight),
            **valued,
            **learnt,
            **self._policy_figures(rate),
        }

    def _rewards(self) -> tuple[np.ndarray, float]:
        """r_env / scale_env + lambda * r_guidance / scale_guidance, `[T, N]`, fixed within the batch."""
        c, guide = self.columns, self.rollout.guide
        _observe(self.env_scale, c.r_env, c)
        rewards = self.env_scale.scale(c.r_env)
        weight = self.guidance_weight.at(self.steps)
        if guide is None:
            return rewards, weight
        self.amended = {True: 0, False: 0}
        for amendment in guide.amendments():
            self.amended[c.amend(amendment)] += 1
        _observe(self.guidance_scale, c.r_guidance, c)
        if weight == 0.0:
            return rewards, weight
        return rewards + weight * self.guidance_scale.scale(c.r_guidance), weight

    def _count(self, finished: Finished) -> None:
        self.steps += self.config.batch
        self.episodes += len(finished.returns)
        self.recent.extend(zip(finished.returns, finished.lengths, strict=True))

    def _episode_figures(self, finished: Finished) -> dict[str, float]:
        returns = [r for r, _ in self.recent]
        lengths = [n for _, n in self.recent]
        return {
            "steps": float(self.steps),
            "episodes": float(self.episodes),
            "ep_return_mean": float(np.mean(returns)) if returns else float("nan"),
            "ep_length_mean": float(np.mean(lengths)) if lengths else float("nan"),
            "ep_return_min": min(finished.returns, default=float("nan")),
            "ep_return_max": max(finished.returns, default=float("nan")),
        }

    def _guidance_figures(self, weight: float) -> dict[str, float]:
        """R_guidance, R_total and raw R_env apart, and lambda * std(R_guidance) / std(R_env), both scaled."""
        if self.rollout.guide is None:
            return {}
        c = self.columns
        scaled = self.guidance_scale.scale(c.r_guidance), self.env_scale.scale(c.r_env)
        return {
            "guidance_weight": weight,
            "r_env_mean": float(c.r_env.mean()),
            "r_guidance_mean": float(c.r_guidance.mean()),
            "r_total_mean": float((scaled[1] + weight * scaled[0]).mean()),
            "guidance_ratio": weight * float(scaled[0].std()) / max(float(scaled[1].std()), 1e-12),
            "price_usd": float(c.price_usd.sum()),
            "query_rate": float((c.choice >= 0).mean()),
            "replaced_rate": float(c.replaced.mean()),
            "answers_amended": float(self.amended[True]),
            "answers_expired": float(self.amended[False]),
        }

    def _policy_figures(self, rate: float) -> dict[str, float]:
        log_std = self.networks.log_std
        return {
            "learning_rate": rate,
            "entropy": gaussian_entropy(log_std),
            "std": float(np.exp(log_std).mean()),
            "reward_scale": self.env_scale.std,
        }

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and JSON values that decide everything to come. Taken between two batches."""
        arrays: dict[str, np.ndarray] = {
            "parameters": self.networks.vector,
            "priors": self.networks.prior_vector,
            "adam.first": self.learner.optimiser.first,
            "adam.second": self.learner.optimiser.second,
            "observation": self.rollout.observation,
            "episode_step": self.rollout.episode_step,
            "recent": np.array(list(self.recent), np.float64).reshape(-1, 2),
        }
        for prefix, part in self._parts().items():
            arrays |= {f"{prefix}.{key}": value for key, value in part.state_dict().items()}
        arrays |= {f"env.{key}": value for key, value in self.env.get_state().items()}
        values = {
            "steps": self.steps,
            "episodes": self.episodes,
            "vector_step": self.rollout.step,
            "adam_steps": self.learner.optimiser.steps,
            "streams": {name: g.bit_generator.state for name, g in self.streams.items()},
        }
        return arrays, values

    def restore(self, arrays: Mapping[str, np.ndarray], values: Mapping[str, Any]) -> None:
        """Go on from `state()`. Missing statistics are a KeyError, other shapes a ValueError."""
        self.networks.vector[...] = arrays["parameters"]
        self.networks.prior_vector[...] = arrays["priors"]
        self.learner.optimiser.first[...] = arrays["adam.first"]
        self.learner.optimiser.second[...] = arrays["adam.second"]
        self.rollout.observation = np.array(arrays["observation"])
        self.rollout.episode_step = np.array(arrays["episode_step"])
        self.recent.clear()
        self.recent.extend((float(r), int(n)) for r, n in arrays["recent"])
        for prefix, part in self._parts().items():
            part.load_state_dict(_under(arrays, prefix + "."))
        self.env.set_state(_under(arrays, "env."))
        self.steps, self.episodes = values["steps"], values["episodes"]
        self.rollout.step, self.learner.optimiser.steps = values["vector_step"], values["adam_steps"]
        for name, generator in self.streams.items():
            generator.bit_generator.state = values["streams"][name]

    def time_split(self) -> dict[str, float]:
        """Shares of the wall time spent in the environment, in the policy, and in learning."""
        env = self.rollout.env_seconds
        parts = {"env": env, "policy": self.seconds["rollout"] - env, "learn": self.seconds["learn"]}
        total = max(sum(parts.values()), 1e-9)
        return {name: value / total for name, value in parts.items()}

    def _parts(self) -> dict[str, RunningNorm | ReturnScaler]:
        return {"norm": self.norm, "env_scale": self.env_scale, "guidance_scale": self.guidance_scale}


def _learning_rate(config: PPOConfig) -> Schedule:
    if not config.anneal:
        return Constant(config.learning_rate)
    return Linear(config.learning_rate, 0.0, config.total_steps)


def _observe(scaler: ReturnScaler, rewards: np.ndarray, columns: Columns) -> None:
    done = columns.terminated | columns.truncated
    for t in range(len(rewards)):
        scaler.update(rewards[t], done[t], columns.valid[t])


def _under(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    found = {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}
    if not found:
        raise KeyError(f"the checkpoint holds nothing under {prefix!r}")
    return found
