"""Which episode seeds are for what, written down once: what trained or tuned anything is never a result."""

from __future__ import annotations

TRAINING = range(1_000_000, 9_000_000)
VALIDATION = range(10_000_000, 10_001_000)
"""Operating points are chosen and baselines are matched here."""

TEST = range(20_000_000, 20_001_000)
"""Results, each episode shared by all methods, so that differences are paired."""

RECORDING = range(30_000_000, 30_001_000)
"""Episodes played to record latencies. Their returns are never looked at."""


def first(seeds: range, count: int) -> list[int]:
    """The first `count` of a range; ValueError when it holds fewer."""
    if not 0 < count <= len(seeds):
        raise ValueError(f"{count} episodes asked for, and there are seeds for {len(seeds)}")
    return list(seeds[:count])
