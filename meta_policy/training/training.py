"""The training of one head: collect on the virtual clock, value, update; with all that decides its future."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agents.normalise import RunningNorm
from agents.returns import explained_variance, generalised_advantages
from agents.tasks.generator import load_generator, pack_generator
from meta_policy.cost import Costs
from meta_policy.decision.features import Features
from meta_policy.decision.head import Head, describe
from meta_policy.loop import Loop
from meta_policy.moves import ALONE, DROP
from meta_policy.presets import Preset
from meta_policy.seeds import TRAINING
from meta_policy.training.config import HeadConfig
from meta_policy.training.learner import Batch, Learner, Networks
from meta_policy.training.rollout import Columns, Rollout, SamplingDecider
from meta_policy.virtual.guide import VirtualGuide

CHEAP = 0.05  # of beta's full range when training starts
STREAMS = ("initial", "moves", "shuffle", "episodes", "jitter")


class Training:
    """One run. Each use of chance has a stream of its own."""

    def __init__(
        self, loop: Loop, guide: VirtualGuide, preset: Preset, costs: Costs, config: HeadConfig, seed: int
    ) -> None:
        self.loop, self.guide, self.preset, self.config = loop, guide, preset, config
        self.steps, self.ramp_steps = 0, config.beta_ramp * config.total_steps
        seeds = np.random.SeedSequence(seed).spawn(len(STREAMS))
        self.streams = {name: np.random.default_rng(s) for name, s in zip(STREAMS, seeds, strict=True)}
        self.features = features_for(loop, preset)
        self.networks = Networks(len(self.features), len(loop.moves), config.hidden)
        self.networks.initialise(self.streams["initial"], first_guess(loop, config.alone_bias))
        self.norm = RunningNorm((len(self.features),))
        decider = SamplingDecider(self.features, self.networks, self.norm, self.streams["moves"])
        self.rollout = Rollout(loop, decider, costs, self.features.return_scale, self._episode)
        self.columns = Columns(config.rollout_steps, config.lanes, len(self.features), len(loop.moves))
        self.learner = Learner(self.networks, config, self.streams["shuffle"])

    def advance(self) -> dict[str, float]:
        """One rollout and one update; what to log comes back."""
        self._jitter()
        self.rollout.returns.clear()
        self.rollout.collect(self.columns)
        batch, figures = prepare(self.columns, self.preset.gamma, self.config.gae_lambda)
        left = 1.0 - self.steps / self.config.total_steps
        learnt = self.learner.update(
            batch, self.config.learning_rate * max(left, 0.2), self.config.entropy_coef * left
        )
        self.norm.update(self.columns.raw)
        self.steps += self.config.batch
        returns = self.rollout.returns
        mean_return = float(np.mean(returns)) if returns else float("nan")
        return {"steps": float(self.steps), "return": mean_return, **figures, **learnt}

    def head(self, **description: Any) -> Head:
        """A copy of the head as it stands. A feature that never varied is off: it has taught nothing."""
        std = np.where(self.norm.var > 1e-6, np.sqrt(self.norm.var + 1e-8), 1e6)
        actor = type(self.networks.actor)(
            self.networks.actor.shape, self.networks.actor.rows.reshape(-1).copy()
        )
        told = describe(self.features, self.loop.moves, **description)
        return Head(self.features, self.loop.moves, actor, self.norm.mean.copy(), std, told)

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Everything that decides the future of this run: arrays, and counters as JSON."""
        optimiser = self.learner.optimiser
        arrays = {
            "networks": self.networks.vector,
            "optimiser.first": optimiser.first,
            "optimiser.second": optimiser.second,
            "running_return": self.rollout.running_return,
        }
        arrays |= {f"norm.{name}": value for name, value in self.norm.state_dict().items()}
        arrays |= {f"stream.{name}": pack_generator(stream) for name, stream in self.streams.items()}
        for part, owner in self._owners().items():
            arrays |= {f"{part}:{name}": value for name, value in owner.get_state().items()}
        return arrays, {"steps": self.steps, "optimiser_steps": optimiser.steps}

    def restore(self, arrays: Mapping[str, np.ndarray], values: Mapping[str, Any]) -> None:
        """Go on from what `state` gave, bit for bit."""
        optimiser = self.learner.optimiser
        self.networks.vector[:] = arrays["networks"]
        optimiser.first[:], optimiser.second[:] = arrays["optimiser.first"], arrays["optimiser.second"]
        self.rollout.running_return[:] = arrays["running_return"]
        self.norm.load_state_dict(_under("norm.", arrays))
        for name, stream in self.streams.items():
            load_generator(stream, arrays[f"stream.{name}"])
        for part, owner in self._owners().items():
            owner.set_state(_under(f"{part}:", arrays))
        self.steps, optimiser.steps = int(values["steps"]), int(values["optimiser_steps"])

    def begin_from(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Begin with the weights and statistics of another run, at guidance's full cost."""
        self.networks.vector[:] = arrays["networks"]
        self.norm.load_state_dict(_under("norm.", arrays))
        self.ramp_steps = 0.0

    def _owners(self) -> dict[str, Any]:
        return {"loop": self.loop, "guide": self.guide, "lanes": self.loop.lanes}

    def _episode(self) -> tuple[int, float]:
        """A fresh training seed, and a beta drawn evenly on a logarithmic scale.

        Guidance is cheap at first and grows to its full cost: a lone lease saves no episode, so from below
        asking more never pays, while from above each needless lease is seen to be one.
        """
        rng, (low, high) = self.streams["episodes"], self.preset.betas
        seed = int(rng.integers(TRAINING.start, TRAINING.stop))
        beta = float(np.exp(rng.uniform(np.log(low), np.log(high))))
        grown = min(self.steps / self.ramp_steps, 1.0) if self.ramp_steps else 1.0
        return seed, beta * (CHEAP + (1.0 - CHEAP) * grown)

    def _jitter(self) -> None:
        """Other latencies and prices than the recorded ones, so that the head reads them."""
        rng, count = self.streams["jitter"], len(self.preset.sources)
        spans = np.log([self.config.latency_jitter, self.config.price_jitter])
        latency, price = (np.exp(rng.uniform(-span, span, count)) for span in spans)
        self.guide.rescale(latency, price)


def _under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): v for name, v in arrays.items() if name.startswith(prefix)}


def features_for(loop: Loop, preset: Preset) -> Features:
    """The columns that fit the loop's executor."""
    own = loop.own
    if own.critics is None:
        raise ValueError("the executor's policy file holds no critics; export it with --with-critics")
    return Features(
        len(own.norm_mean),
        len(own.low),
        preset.provider_ids,
        own.critics.return_scale,
        preset.rate,
        1000,
    )


def first_guess(loop: Loop, alone_bias: float) -> np.ndarray:
    """Logits of the untrained head `[M]`: alone, or else leases of about five steps from the dearest source.

    Only a start, for exploration's sake: a price is the one hint of quality before anything was tried.
    """
    moves, price = loop.moves, loop.guide.providers.usd_per_step
    worth = np.log(np.maximum(price / max(price.max(), 1e-12), 0.02))
    bias = 2.0 * worth[moves.provider] - np.abs(np.log(np.maximum(moves.hold, 1) / 5.0))
    bias[ALONE], bias[DROP] = alone_bias, 0.0
    return bias.astype(np.float32)


def prepare(columns: Columns, gamma: float, lam: float) -> tuple[Batch, dict[str, float]]:
    """Advantages over primitive steps, flattened with the rest `[T * B, ...]`."""
    advantage = generalised_advantages(
        columns.utility,
        columns.value,
        columns.following,
        columns.terminated,
        columns.truncated,
        gamma,
        lam,
    )
    target = advantage + columns.value
    rows = columns.move.size
    batch = Batch(
        columns.seen.reshape(rows, -1),
        columns.legal.reshape(rows, -1),
        columns.move.reshape(rows),
        columns.log_prob.reshape(rows),
        advantage.reshape(rows).astype(np.float32),
        target.reshape(rows).astype(np.float32),
        (columns.legal.sum(axis=2) > 1).reshape(rows).astype(np.float32),
    )
    figures = {
        "guided_share": float(columns.guided.mean()),
        "decided_share": float(batch.decides.mean()),
        "explained_variance": explained_variance(columns.value, target),
    }
    return batch, figures
