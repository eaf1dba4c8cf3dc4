"""The exported policy: one safetensors file (docs/policy_file.md), and the `Policy` that runs it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from agents.files import write_atomically
from agents.networks import Float, MlpStack, StackShape
from agents.ppo.losses import gaussian_entropy

FORMAT = 1
KEY = "guidance.policy"


class PolicyFileError(ValueError):
    """The file is not a policy this version can run; the message says what is missing or wrong."""


@dataclass(frozen=True, slots=True)
class Critics:
    """V_k(x) = (f_k(x) + prior_scale * p_k(x)) * return_scale, in raw discounted return."""

    functions: MlpStack
    priors: MlpStack
    prior_scale: float
    return_scale: float
    gamma: float


@dataclass(frozen=True, slots=True)
class Policy:
    """A Gaussian policy on raw observations; the deterministic action is the clipped mean.

    x = clip((observation - norm_mean) / norm_std, -norm_clip, norm_clip), actor(x) = mean,
    action = clip(mean, low, high). `description` is the file's JSON as it stands.
    """

    actor: MlpStack
    log_std: Float
    norm_mean: NDArray[np.float64]
    norm_std: NDArray[np.float64]
    norm_clip: float
    low: Float
    high: Float
    description: dict[str, Any]
    critics: Critics | None = None

    def normalise(self, observation: ArrayLike) -> Float:
        """Raw `[O]` or `[B, O]` to normalised `[B, O]`."""
        rows = np.atleast_2d(np.asarray(observation, np.float64))
        if rows.ndim != 2 or rows.shape[1] != len(self.norm_mean):
            raise ValueError(
                f"observations must be [O] or [B, O] with O = {len(self.norm_mean)}, got {rows.shape}"
            )
        scaled = (rows - self.norm_mean) / self.norm_std
        return np.clip(scaled, -self.norm_clip, self.norm_clip).astype(np.float32)

    def distribution(self, observation: ArrayLike) -> tuple[Float, Float]:
        """Mean `[B, A]` and standard deviation `[B, A]` of the unclipped action."""
        mean = self.actor(self.normalise(observation))[0]
        return mean, np.broadcast_to(np.exp(self.log_std), mean.shape)

    def predict(
        self,
        observation: ArrayLike,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        rng: np.random.Generator | None = None,
    ) -> tuple[Float, Any]:
        """Clipped actions, `[A]` for one observation and `[B, A]` for a batch, and the state handed in.

        A sampled action needs `rng`, so that no hidden stream decides it.
        """
        mean, std = self.distribution(observation)
        if not deterministic:
            if rng is None:
                raise ValueError("deterministic=False needs rng, a numpy Generator")
            mean = mean + std * rng.standard_normal(mean.shape, dtype=np.float32)
        action = np.clip(mean, self.low, self.high)
        return (action[0] if np.ndim(observation) == 1 else action), state

    def values(self, observation: ArrayLike) -> NDArray[np.float64]:
        """Every critic's estimate of the raw discounted return, `[K, B]`."""
        if self.critics is None:
            raise PolicyFileError("this policy file holds no critics; export it with --with-critics")
        c, seen = self.critics, self.normalise(observation)
        values = c.functions(seen)[..., 0] + np.float32(c.prior_scale) * c.priors(seen)[..., 0]
        return values.astype(np.float64) * c.return_scale

    def entropy(self) -> float:
        """Entropy of the action distribution in nats; the same in every state."""
        return gaussian_entropy(self.log_std)

    def save(self, path: Path | str) -> None:
        """Write the file atomically."""
        tensors = {
            **_layers("actor", self.actor, squeeze=True),
            "log_std": self.log_std,
            "norm.mean": self.norm_mean,
            "norm.std": self.norm_std,
        }
        if self.critics is not None:
            tensors |= _layers("critics", self.critics.functions) | _layers("priors", self.critics.priors)
        owned = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
        write_atomically(Path(path), save(owned, {KEY: json.dumps(self.description, sort_keys=True)}))

    @staticmethod
    def load(path: Path | str) -> Policy:
        """Read a policy file; PolicyFileError says what is missing. Nothing is unpickled."""
        try:
            with safe_open(str(path), framework="numpy") as file:
                described = (file.metadata() or {}).get(KEY)
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        except SafetensorError as error:
            raise PolicyFileError(f"{path}: cannot be read as safetensors ({error})") from error
        if described is None:
            raise PolicyFileError(f"{path}: no {KEY!r} metadata: not an exported policy")
        return _from_tensors(str(path), json.loads(described), tensors)


def _from_tensors(path: str, description: dict[str, Any], tensors: dict[str, np.ndarray]) -> Policy:
    if description.get("format") != FORMAT:
        raise PolicyFileError(f"{path}: format {description.get('format')}, this version reads {FORMAT}")
    missing = [name for name in ("norm.mean", "norm.std", "log_std", "actor.0.weight") if name not in tensors]
    if missing:
        raise PolicyFileError(f"{path}: without {', '.join(missing)} this policy cannot be run")
    action = description["action"]
    critics = None
    if "critics" in description:
        told = description["critics"]
        critics = Critics(
            _stack("critics", tensors),
            _stack("priors", tensors),
            told["prior_scale"],
            told["return_scale"],
            told["gamma"],
        )
    return Policy(
        _stack("actor", tensors),
        tensors["log_std"],
        tensors["norm.mean"],
        tensors["norm.std"],
        description["normaliser"]["clip"],
        np.asarray(action["low"], np.float32),
        np.asarray(action["high"], np.float32),
        description,
        critics,
    )


def _layers(prefix: str, stack: MlpStack, squeeze: bool = False) -> dict[str, np.ndarray]:
    """`prefix.i.weight` `[K, out, in]` and `prefix.i.bias` `[K, out]`, without K where squeezed."""
    tensors: dict[str, np.ndarray] = {}
    for i, (weight, bias) in enumerate(zip(stack.weights, stack.biases, strict=True)):
        outward = np.swapaxes(weight, 1, 2)
        tensors[f"{prefix}.{i}.weight"] = outward[0] if squeeze else outward
        tensors[f"{prefix}.{i}.bias"] = bias[0, 0] if squeeze else bias[:, 0]
    return tensors


def _stack(prefix: str, tensors: dict[str, np.ndarray]) -> MlpStack:
    count = sum(name.startswith(f"{prefix}.") and name.endswith(".weight") for name in tensors)
    weights = [tensors[f"{prefix}.{i}.weight"] for i in range(count)]
    biases = [tensors[f"{prefix}.{i}.bias"] for i in range(count)]
    if weights[0].ndim == 2:
        weights, biases = [w[None] for w in weights], [b[None] for b in biases]
    sizes = (weights[0].shape[2], *(w.shape[1] for w in weights))
    shape = StackShape(weights[0].shape[0], sizes)
    stack = MlpStack(shape, np.zeros(shape.parameters, np.float32))
    for i in range(count):
        stack.weights[i][...] = np.swapaxes(weights[i], 1, 2)
        stack.biases[i][...] = biases[i][:, None]
    return stack
