"""The learnt decision: a small network from features to moves, its file, and the decider that plays it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from agents.files import write_atomically
from agents.networks import MlpStack, StackShape
from meta_policy.decision.features import Features
from meta_policy.moves import MoveSet
from meta_policy.view import Counts, Flags, LaneView

Float = NDArray[np.float32]
FORMAT = 1
KEY = "guidance.head"
CLIP = 10.0


class HeadFileError(ValueError):
    """The file is not a head this version can run; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Head:
    """logits = f(clip((features - mean) / std)), `[B, M]`, over the moves of one provider table.

    `description` is the file's JSON as it stands: task, executor, providers, holds, features, training.
    """

    features: Features
    moves: MoveSet
    actor: MlpStack
    mean: NDArray[np.float64]  # [F]
    std: NDArray[np.float64]  # [F]
    description: dict[str, Any]

    def see(self, view: LaneView) -> Float:
        """Normalised features `[B, F]`."""
        return normalised(self.features(view), self.mean, self.std)

    def logits(self, seen: Float) -> Float:
        """`[B, M]`, illegal moves not yet masked."""
        logits: Float = self.actor(seen)[0]
        return logits

    def save(self, path: Path) -> None:
        """Atomically, as one safetensors file with the JSON in its metadata."""
        tensors: dict[str, np.ndarray] = {"norm.mean": self.mean, "norm.std": self.std}
        layers = zip(self.actor.weights, self.actor.biases, strict=True)
        for i, (weight, bias) in enumerate(layers):
            tensors[f"actor.{i}.weight"] = np.ascontiguousarray(weight[0].T)
            tensors[f"actor.{i}.bias"] = np.ascontiguousarray(bias[0, 0])
        write_atomically(path, save(tensors, {KEY: json.dumps(self.description, sort_keys=True)}))

    @staticmethod
    def load(path: Path) -> Head:
        """HeadFileError for a foreign file, another format, or features this version does not know."""
        with safe_open(str(path), framework="numpy") as file:
            told = (file.metadata() or {}).get(KEY)
            if told is None:
                raise HeadFileError(f"{path}: no {KEY!r} metadata: not a head")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        description = json.loads(told)
        if description.get("format") != FORMAT:
            raise HeadFileError(f"{path}: format {description.get('format')}, this version reads {FORMAT}")
        features = features_of(description)
        if list(features.names) != description["features"]["names"]:
            raise HeadFileError(f"{path}: it was trained on features that this version does not compute")
        moves = MoveSet(tuple(description["providers"]), tuple(description["holds"]))
        mean, std = tensors["norm.mean"], tensors["norm.std"]
        return Head(features, moves, _stack(tensors), mean, std, description)


def normalised(features: Float, mean: NDArray[np.float64], std: NDArray[np.float64]) -> Float:
    """clip((x - mean) / std, -CLIP, CLIP), `[B, F]`."""
    return np.clip((features - mean) / std, -CLIP, CLIP).astype(np.float32)


def describe(features: Features, moves: MoveSet, **more: Any) -> dict[str, Any]:
    """What a head's file says of itself; `more` is the caller's: task, executor, training."""
    told = {"names": list(features.names), "observations": features.observations, "actions": features.actions}
    told |= {"return_scale": features.return_scale, "rate": features.rate, "max_steps": features.max_steps}
    providers, holds = list(moves.provider_ids), list(moves.holds)
    return {"format": FORMAT, "providers": providers, "holds": holds, "features": told, **more}


def features_of(description: dict[str, Any]) -> Features:
    told = description["features"]
    return Features(
        told["observations"],
        told["actions"],
        tuple(description["providers"]),
        told["return_scale"],
        told["rate"],
        told["max_steps"],
    )


def _stack(tensors: dict[str, np.ndarray]) -> MlpStack:
    count = sum(name.startswith("actor.") and name.endswith(".weight") for name in tensors)
    weights = [tensors[f"actor.{i}.weight"] for i in range(count)]
    shape = StackShape(1, (weights[0].shape[1], *(w.shape[0] for w in weights)))
    stack = MlpStack(shape, np.zeros(shape.parameters, np.float32))
    for i, weight in enumerate(weights):
        stack.weights[i][0] = weight.T
        stack.biases[i][0, 0] = tensors[f"actor.{i}.bias"]
    return stack


@dataclass(frozen=True, slots=True)
class HeadDecider:
    """Plays a head: the likeliest legal move, or one drawn from its probabilities."""

    head: Head
    greedy: bool = True

    def decide(self, view: LaneView, legal: Flags) -> Counts:
        logits = masked(self.head.logits(self.head.see(view)), legal)
        if not self.greedy:
            return drawn(logits, view.rng)
        choice: Counts = logits.argmax(axis=1)
        return choice


def masked(logits: Float, legal: Flags) -> Float:
    """Illegal moves get no probability: `[B, M]`."""
    return np.where(legal, logits, np.float32(-1e9))


def drawn(logits: Float, rng: np.random.Generator) -> Counts:
    """One move a row from softmax(logits), by the Gumbel trick."""
    gumbel = -np.log(-np.log(rng.random(logits.shape) + 1e-20) + 1e-20)
    choice: Counts = (logits + gumbel).argmax(axis=1)
    return choice
