"""A fault in one row must not cost the others: find the faulty rows of a batch, take the rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from protos import codec
from protos.codec import ContractError
from protos.guidance.v1 import guidance_pb2 as pb

_COLUMNS = (
    "lane",
    "ask_id",
    "episode",
    "step",
    "lane_generation",
    "expected_delay_steps",
    "runway_steps",
    "obs_time_ns",
    "value_at_stake_usd",
)
_MAPS = ("observations", "context", "history")


def non_finite_rows(batch: pb.AskBatch) -> dict[int, ContractError]:
    """The rows with a NaN or an infinity, each with its own error, naming row and index."""
    rows = len(batch.ask_id)
    found: dict[int, ContractError] = {}
    for field in _MAPS:
        for name, message in getattr(batch, field).items():
            place = f"{field}[{name}]"
            _note(codec.decode_tensor(message, place), place, rows, found)
    if batch.HasField("sim_state"):
        _note(codec.decode_tensor(batch.sim_state.state, "sim_state.state"), "sim_state.state", rows, found)
    return found


def _note(array: np.ndarray, place: str, rows: int, found: dict[int, ContractError]) -> None:
    if array.dtype.kind != "f" or array.shape[:1] != (rows,):
        return
    flat = np.isfinite(array).reshape(rows, -1)
    for row in np.flatnonzero(~flat.all(axis=1)).tolist():
        where = np.argwhere(~np.isfinite(array[row]))[0].tolist()
        message = f"row {row}, index {where} is not finite; send finite values"
        found.setdefault(row, ContractError(place, message, "NON_FINITE"))


def take_rows(batch: pb.AskBatch, rows: Sequence[int]) -> pb.AskBatch:
    """The batch of some of its rows, which must be sound in shape."""
    taken = pb.AskBatch(options=batch.options if batch.HasField("options") else None)
    for name in _COLUMNS:
        column = getattr(batch, name)
        if column:
            getattr(taken, name).extend([column[row] for row in rows])
    for name in _MAPS:
        for key, message in getattr(batch, name).items():
            getattr(taken, name)[key].CopyFrom(_tensor_rows(message, rows))
    if batch.HasField("sim_state"):
        taken.sim_state.CopyFrom(batch.sim_state)
        taken.sim_state.state.CopyFrom(_tensor_rows(batch.sim_state.state, rows))
    if batch.prefix:
        taken.prefix.extend([batch.prefix[row] for row in rows])
    return taken


def _tensor_rows(message: pb.Tensor, rows: Sequence[int]) -> pb.Tensor:
    return codec.encode_tensor(codec.decode_tensor(message, "tensor")[np.asarray(rows, np.intp)])
