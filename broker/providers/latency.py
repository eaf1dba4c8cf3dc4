"""Latency distributions of simulated sources, as they stand in the configuration."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from broker.config import Strict

NORMAL_P99 = 2.3263478740408408  # the standard normal's 99th percentile


class Constant(Strict):
    distribution: Literal["constant"]
    value_ms: Annotated[float, Field(ge=0)]

    def draw_s(self, rng: np.random.Generator) -> float:
        return self.value_ms / 1000


class Lognormal(Strict):
    """exp(mu + sigma z), z standard normal, with mu = ln p50 and sigma = ln(p99 / p50) / z_99."""

    distribution: Literal["lognormal"]
    p50_ms: Annotated[float, Field(gt=0)]
    p99_ms: Annotated[float, Field(gt=0)]

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.p99_ms < self.p50_ms:
            raise ValueError("p99_ms must not be below p50_ms")
        return self

    def draw_s(self, rng: np.random.Generator) -> float:
        sigma = math.log(self.p99_ms / self.p50_ms) / NORMAL_P99
        return self.p50_ms / 1000 * math.exp(sigma * rng.standard_normal())


Latency = Annotated[Constant | Lognormal, Field(discriminator="distribution")]
