"""What a source that answers for later steps must know: what the lane does until then, and when that is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from agents.client.lane import candidates
from agents.client.lanes import Lane
from agents.client.merge import merge_row
from agents.client.providers import ProviderView
from protos.types import Prefix, PrefixKind


def reads_prefix(view: ProviderView | None) -> bool:
    return view is not None and view.info.reads.prefix


def expected_delay_steps(view: ProviderView, period_us: int) -> int:
    """Control periods until this provider's median answer is here; at least the one that is running."""
    p50_ms = 0.0 if view.update is None else view.update.latency.p50_ms
    return max(1, math.ceil(p50_ms * 1000.0 / period_us))


def prefix_of(lane: Lane, step: int, action_dim: int, delay_steps: int) -> Prefix:
    """The rows of the lane's merged chunks from `step` on, without a gap; none where it holds no chunk.

    Never padded. The first `delay_steps` rows are committed: they are executed before the answer can land.
    """
    rows: list[np.ndarray] = []
    while True:
        covering = candidates(lane.registers, step + len(rows))
        merged = merge_row(covering, step + len(rows), lane.spec.merge, lane.spec.blend_mask)
        if merged is None or merged.dims is not None:
            break
        rows.append(merged.action)
    actions = np.stack(rows) if rows else np.zeros((0, action_dim), np.float32)
    return Prefix(actions, step, min(delay_steps, len(rows)), PrefixKind.EXECUTING)


def prefixes(
    view: ProviderView, lanes: Sequence[Lane], steps: Sequence[int], action_dim: int
) -> tuple[list[Prefix], list[int]]:
    """A prefix and an expected delay for each row."""
    delays = [expected_delay_steps(view, lane.spec.period_us) for lane in lanes]
    rows = zip(lanes, steps, delays, strict=True)
    return [prefix_of(lane, step, action_dim, delay) for lane, step, delay in rows], delays
