"""What a lane may act on at one step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.client.lane import Held, Registers, action_for, candidates
from agents.client.merge import MergedRow, merge_row
from protos.types import ActionAdvice, Answer, AnswerKind, LaneSpec


class Advice(NamedTuple):
    """Advice for one step: `action` is `[A]` (read-only; copy before writing), or a 0-d integer where
    discrete.

    `age_steps` counts from the observation it answers; `price_usd` is what was charged for the answer;
    `confidence` is NaN where the source gave none; `dims` `[A]` marks the dimensions that were given, None:
    all of them.
    """

    action: NDArray[np.generic]
    provider_id: str
    kind: AnswerKind
    age_steps: int
    ask_id: int
    price_usd: float
    leased: bool
    confidence: float
    degraded: bool = False
    merged: bool = False
    dims: NDArray[np.bool_] | None = None

    def over(self, own: NDArray[np.generic]) -> NDArray[np.generic]:
        """The action to take: this one, with the agent's `own` `[A]` where no dimension was given."""
        return self.action if self.dims is None else np.where(self.dims, self.action, own)


def advice_for(registers: Registers, spec: LaneSpec, step: int) -> Advice | None:
    """The highest-ranking usable action of a lane at `step`: single, or row of the merged chunks."""
    single = action_for(registers, step)
    if not registers.chunks:
        return None if single is None else _single(single, step)
    merged = merge_row(candidates(registers, step), step, spec.merge, spec.blend_mask)
    if merged is None or (single is not None and single.rank >= merged.held.rank):
        return None if single is None else _single(single, step)
    return _from_chunk(merged, step)


def _single(held: Held, step: int) -> Advice:
    guidance = held.answer.guidance
    assert isinstance(guidance, ActionAdvice)
    return _advice(held, step, guidance.actions[held.row])


def _from_chunk(row: MergedRow, step: int) -> Advice:
    return _advice(row.held, step, row.action, row.merged, row.dims)


def _advice(
    held: Held,
    step: int,
    action: NDArray[np.generic],
    merged: bool = False,
    dims: NDArray[np.bool_] | None = None,
) -> Advice:
    answer, row = held.answer, held.row
    return Advice(
        action=action,
        provider_id=provider_of(answer),
        kind=answer.kind,
        age_steps=step - held.step,
        ask_id=answer.ask_ids[row],
        price_usd=answer.prices_usd[row] if answer.prices_usd else 0.0,
        leased=answer.leased,
        confidence=answer.confidence[row] if answer.confidence else float("nan"),
        degraded=answer.degraded,
        merged=merged,
        dims=dims,
    )


def provider_of(answer: Answer) -> str:
    """Who an answer counts for: the first of a fused one, empty where nobody was asked."""
    return answer.provider_ids[0] if answer.provider_ids else ""
