"""The training of one head: collect on the virtual clock, value, update; with all that decides its future."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agents.normalise import RunningNorm
from agents.returns import explained_variance, generalised_advantages
from agents.tasks.generator import load_generator, pack_generator
from meta_policy.config import HeadConfig
from meta_policy.cost import Costs
from meta_policy.features import Features
from meta_policy.head import Head, describe
from meta_policy.learner import Batch, Learner, Networks
from meta_policy.loop import Loop
from meta_policy.presets import Preset
from meta_policy.rollout import Columns, Rollout, SamplingDecider
from meta_policy.seeds import TRAINING
from meta_policy.virtual import VirtualGuide

STREAMS = ("initial", "moves", "shuffle", "episodes", "jitter")


class Training:
    """One run. Each use of chance has a stream of its own."""

    def __init__(
        self, loop: Loop, guide: VirtualGuide, preset: Preset, costs: Costs, config: HeadConfig, seed: int
    ) -> None:
        self.loop, self.guide, self.preset, self.config = loop, guide, preset, config
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
        self.steps = 0

    def advance(self) -> dict[str, float]:
        """One rollout and one update; what to log comes back."""
        self._jitter()
        self.rollout.returns.clear()
        self.rollout.collect(self.columns)
        batch, figures = prepare(self.columns, self.config)
        left = 1.0 - self.steps / self.config.total_steps
        learnt = self.learner.update(
            batch, self.config.learning_rate * max(left, 0.05), self.config.entropy_coef * left
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

    def _owners(self) -> dict[str, Any]:
        return {"loop": self.loop, "guide": self.guide, "lanes": self.loop.lanes}

    def _episode(self) -> tuple[int, float]:
        """A fresh training seed, and a beta drawn evenly on a logarithmic scale."""
        rng, (low, high) = self.streams["episodes"], self.preset.betas
        seed = int(rng.integers(TRAINING.start, TRAINING.stop))
        return seed, float(np.exp(rng.uniform(np.log(low), np.log(high))))

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
    """Logits of the untrained head `[M]`: alone mostly, long leases and drops rarely."""
    bias = -0.7 * np.log(np.maximum(loop.moves.hold, 1.0))
    bias[0] = alone_bias
    return bias.astype(np.float32)


def prepare(columns: Columns, config: HeadConfig) -> tuple[Batch, dict[str, float]]:
    """Advantages over primitive steps, flattened with the rest `[T * B, ...]`."""
    advantage = generalised_advantages(
        columns.utility,
        columns.value,
        columns.following,
        columns.terminated,
        columns.truncated,
        config.gamma,
        config.gae_lambda,
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
