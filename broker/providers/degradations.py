"""What can be wrong with a source, for drills: pure changes of actions ``[B, ..., A]`` scaled to -1 ... 1.

``slow`` and ``dead`` concern time, not actions; :mod:`broker.providers.simulated` acts on them.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from broker.config import Fraction, Strict

Rng = np.random.Generator


class Undertuned(Strict):
    """Gains too low: actions are scaled by 1 - ``strength``."""

    kind: Literal["undertuned"]
    strength: Fraction = 0.5

    def degrade(self, actions: np.ndarray, rng: Rng, bias: np.ndarray) -> np.ndarray:
        return actions * (1.0 - self.strength)


class Biased(Strict):
    """Always off by ``strength`` in the same direction, drawn once from the seed."""

    kind: Literal["biased"]
    strength: Fraction = 0.3

    def degrade(self, actions: np.ndarray, rng: Rng, bias: np.ndarray) -> np.ndarray:
        return actions + self.strength * bias


class Noisy(Strict):
    """Gaussian noise of standard deviation ``strength``, fresh for every row and dimension."""

    kind: Literal["noisy"]
    strength: Annotated[float, Field(ge=0)] = 0.3

    def degrade(self, actions: np.ndarray, rng: Rng, bias: np.ndarray) -> np.ndarray:
        return actions + self.strength * rng.standard_normal(actions.shape)


class Lying(Strict):
    """Right most of the time, wrong where it matters.

    Rows whose action is strong (root mean square above ``above``) are told with the opposite sign: strong
    actions are the corrections a body cannot do without.
    """

    kind: Literal["lying"]
    above: Fraction = 0.8

    def degrade(self, actions: np.ndarray, rng: Rng, bias: np.ndarray) -> np.ndarray:
        strong = np.sqrt(np.mean(np.square(actions), axis=-1, keepdims=True)) > self.above
        return np.where(strong, -actions, actions)


class Slow(Strict):
    """Every latency times ``factor``."""

    kind: Literal["slow"]
    factor: Annotated[float, Field(ge=1)] = 10.0


class Dead(Strict):
    """Takes every call and answers none."""

    kind: Literal["dead"]


OfActions = Undertuned | Biased | Noisy | Lying
Degradation = Annotated[OfActions | Slow | Dead, Field(discriminator="kind")]
