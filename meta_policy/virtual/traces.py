"""How long answers take: recorded through the real broker, or drawn before anything was recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents.files import write_atomically
from meta_policy.presets import Preset
from meta_policy.view import Floats

FORMAT = 1
WIRE_P50_MS, WIRE_P99_MS = 0.5, 1.5
_Z99 = 2.3263478740408408  # 99 % quantile of the standard normal


@dataclass(frozen=True, slots=True)
class Traces:
    """Latencies in milliseconds in the order they were seen, from an observation sent to its answer there.

    `latency_ms` maps a provider id to `[N]`; `source` says where they come from.
    """

    task: str
    latency_ms: Mapping[str, Floats]
    source: str

    def quantile(self, provider_id: str, share: float) -> float:
        return float(np.quantile(self.latency_ms[provider_id], share))

    def save(self, path: Path) -> None:
        """As JSON: format, task, source, latency_ms by provider, rounded to a microsecond."""
        rounded = {name: np.round(ms, 3).tolist() for name, ms in self.latency_ms.items()}
        described = {"format": FORMAT, "task": self.task, "source": self.source, "latency_ms": rounded}
        write_atomically(path, json.dumps(described).encode())

    @staticmethod
    def load(path: Path) -> Traces:
        """ValueError for another format, an empty trace, or a latency that is not a positive number."""
        told = json.loads(path.read_text())
        if told.get("format") != FORMAT:
            raise ValueError(f"{path}: format {told.get('format')}, this version reads {FORMAT}")
        latencies = {name: np.asarray(ms, np.float64) for name, ms in told["latency_ms"].items()}
        for name, ms in latencies.items():
            if not ms.size or not np.isfinite(ms).all() or (ms < 0).any():
                raise ValueError(
                    f"{path}: the latencies of {name!r} must be finite, positive and at least one"
                )
        return Traces(told["task"], latencies, told["source"])


def assumed(preset: Preset, samples: int = 20_000, seed: int = 0) -> Traces:
    """The preset's quantiles plus an assumed wire, both lognormal: for use before anything was recorded."""
    rng = np.random.default_rng(seed)
    wire = {s.provider_id: lognormal(rng, WIRE_P50_MS, WIRE_P99_MS, samples) for s in preset.sources}
    own = {
        s.provider_id: lognormal(rng, s.p50_ms, s.p99_ms, samples) if s.p50_ms > 0 else np.zeros(samples)
        for s in preset.sources
    }
    latencies = {name: wire[name] + own[name] for name in wire}
    return Traces(preset.task, latencies, "assumed: lognormal source + lognormal wire")


def lognormal(rng: np.random.Generator, p50: float, p99: float, samples: int) -> Floats:
    """exp(N(ln p50, s)) with s = ln(p99 / p50) / z_0.99, `[samples]`."""
    drawn: Floats = p50 * np.exp(np.log(p99 / p50) / _Z99 * rng.standard_normal(samples))
    return drawn


def traces_for(preset: Preset, path: Path) -> Traces:
    """The recorded traces at `path`, else the assumed ones.

    A record counts for the control period it was taken at: between two far ticks a machine goes cold, and the
    same way through it takes longer.
    """
    return Traces.load(path) if path.exists() else assumed(preset)
