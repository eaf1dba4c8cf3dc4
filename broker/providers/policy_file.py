"""Reads an exported policy (docs/policy_file.md): one safetensors file, its description in the metadata.

Nothing is unpickled, and nothing here needs torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError, safe_open

KEY = "guidance.policy"
_ALWAYS = ("norm.mean", "norm.std", "log_std")


class PolicyFileError(ValueError):
    """The file is not a policy this version can run; the message says what is missing or wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class PolicyFile:
    """A deterministic policy on raw observations.

    x = clip((observation - norm_mean) / norm_std, -norm_clip, norm_clip) in float64, then in float32 tanh
    layers ``weights[i]`` ``[out, in]``, ``biases[i]`` ``[out]``, the last one linear;
    action = clip(output, low, high).
    """

    task: str
    observation: str
    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    norm_mean: np.ndarray
    norm_std: np.ndarray
    norm_clip: float
    low: np.ndarray
    high: np.ndarray

    @property
    def inputs(self) -> int:
        return int(self.weights[0].shape[1])

    @property
    def actions(self) -> int:
        return len(self.low)

    def normalise(self, observations: np.ndarray) -> np.ndarray:
        """Raw ``[B, O]`` to float32 ``[B, O]``."""
        scaled = observations - self.norm_mean
        scaled /= self.norm_std
        np.maximum(scaled, -self.norm_clip, out=scaled)  # np.clip asks three questions first
        clipped: np.ndarray = np.minimum(scaled, self.norm_clip, out=scaled)
        return clipped.astype(np.float32)


def load_policy_file(path: Path) -> PolicyFile:
    """Raises :class:`PolicyFileError`."""
    try:
        with safe_open(str(path), framework="numpy") as file:
            described = (file.metadata() or {}).get(KEY)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (OSError, SafetensorError) as error:
        raise PolicyFileError(f"{path}: cannot be read as safetensors ({error})") from None
    if described is None:
        raise PolicyFileError(f"{path}: no {KEY!r} metadata: not an exported policy")
    try:
        told = _Description.model_validate_json(described)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise PolicyFileError(f"{path}: {faults}") from None
    return _checked(path, told, tensors)


def _checked(path: Path, told: _Description, tensors: dict[str, np.ndarray]) -> PolicyFile:
    layers = range(told.actor.layers)
    needed = [*_ALWAYS, *(f"actor.{i}.{part}" for i in layers for part in ("weight", "bias"))]
    missing = [name for name in needed if name not in tensors]
    if missing:
        raise PolicyFileError(f"{path}: without {', '.join(missing)} this policy cannot be run")
    broken = [name for name in needed if not np.isfinite(tensors[name]).all()]
    if broken:
        raise PolicyFileError(f"{path}: {', '.join(broken)} holds values that are not finite")
    policy = PolicyFile(
        task=told.task,
        observation=told.observation.name,
        weights=tuple(tensors[f"actor.{i}.weight"].astype(np.float32) for i in layers),
        biases=tuple(tensors[f"actor.{i}.bias"].astype(np.float32) for i in layers),
        norm_mean=tensors["norm.mean"].astype(np.float64),
        norm_std=tensors["norm.std"].astype(np.float64),
        norm_clip=told.normaliser.clip,
        low=np.asarray(told.action.low, np.float32),
        high=np.asarray(told.action.high, np.float32),
    )
    if not _fits(policy, told):
        raise PolicyFileError(f"{path}: the tensors' shapes do not fit together or the description")
    if not (policy.norm_std > 0).all():
        raise PolicyFileError(f"{path}: norm.std must be above 0")
    return policy


def _fits(policy: PolicyFile, told: _Description) -> bool:
    """Whether every layer takes what the one below gives, from the observation to the action."""
    width = told.observation.shape[0]
    if policy.norm_mean.shape != (width,) or policy.norm_std.shape != (width,):
        return False
    for weight, bias in zip(policy.weights, policy.biases, strict=True):
        if weight.ndim != 2 or weight.shape[1] != width or bias.shape != (weight.shape[0],):
            return False
        width = weight.shape[0]
    return told.action.shape == (width,) and policy.low.shape == policy.high.shape == (width,)


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)


class _Actor(_Part):
    layers: Annotated[int, Field(gt=0)]
    activation: Literal["tanh"]
    head: Literal["gaussian"]


class _Normaliser(_Part):
    clip: Annotated[float, Field(gt=0)]


class _Observation(_Part):
    name: str
    shape: tuple[int]


class _Action(_Part):
    shape: tuple[int]
    low: tuple[float, ...]
    high: tuple[float, ...]


class _Description(_Part):
    format: Literal[1]
    task: str
    actor: _Actor
    normaliser: _Normaliser
    observation: _Observation
    action: _Action
