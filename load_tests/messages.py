"""The messages of a load: realistic in size, cheap to make, each ask with an id of its own."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from protos.guidance.v1 import guidance_pb2 as pb

RUN = secrets.randbits(31) << 32  # a retry of an id would be answered from memory, so no two asks share one
_asks = itertools.count()


@dataclass(frozen=True)
class Shape:
    """One kind of message: ``rows`` rows of ``observation`` floats, actions of ``action`` floats."""

    task: str
    rows: int
    observation: int = 105
    action: int = 8
    episode: int = 1


def hello(shape: Shape) -> pb.Hello:
    low, high = [-1.0] * shape.action, [1.0] * shape.action
    return pb.Hello(
        protocol_version=1,
        agent="load",
        task=shape.task,
        observations=[
            pb.TensorSpec(name="observation", dtype=pb.DATA_TYPE_FLOAT64, shape=[shape.observation])
        ],
        action=pb.ActionSpec(box=pb.BoxSpace(shape=[shape.action], low=low, high=high)),
        lanes=[pb.LaneSpec(lane=lane, period_us=50_000) for lane in range(shape.rows)],
    )


@lru_cache
def _template(shape: Shape, provider_id: str) -> pb.AskBatch:
    observation = np.random.default_rng(0).standard_normal((shape.rows, shape.observation))
    batch = pb.AskBatch(
        options=pb.AskOptions(provider_id=provider_id, first_answer_by_ms=5000),
        lane=range(shape.rows),
        episode=[shape.episode] * shape.rows,
        lane_generation=[1] * shape.rows,
    )
    batch.observations["observation"].CopyFrom(
        pb.Tensor(dtype=pb.DATA_TYPE_FLOAT64, shape=observation.shape, data=observation.tobytes())
    )
    return batch


def ask_batch(shape: Shape, number: int, provider_id: str) -> pb.AskBatch:
    """Message ``number``: the same observations, ids and steps of its own."""
    batch = pb.AskBatch()
    batch.CopyFrom(_template(shape, provider_id))
    first = RUN + next(_asks) * shape.rows
    batch.ask_id.extend(range(first, first + shape.rows))
    batch.step.extend([number] * shape.rows)
    return batch
