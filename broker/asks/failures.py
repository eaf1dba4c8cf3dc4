"""Errors as the stream tells them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from broker.errors import BrokerError, InvalidRequest
from protos import codec
from protos.codec import ContractError
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import Failure


@dataclass(frozen=True, slots=True)
class Addresses:
    """Whose rows: lane, ask id, episode and step, column by column."""

    lanes: Sequence[int]
    ask_ids: Sequence[int]
    episodes: Sequence[int]
    steps: Sequence[int]

    @classmethod
    def of(cls, batch: pb.AskBatch) -> Addresses:
        """Of a batch that may be unsound: a column of the wrong length is read as zeros."""
        rows = len(batch.ask_id)
        columns = [
            list(column) if len(column) == rows else [0] * rows
            for column in (batch.lane, batch.episode, batch.step)
        ]
        return cls(columns[0], list(batch.ask_id), columns[1], columns[2])

    def __len__(self) -> int:
        return len(self.ask_ids)

    def __iter__(self) -> Iterator[tuple[int, int, int, int]]:
        return zip(self.lanes, self.ask_ids, self.episodes, self.steps, strict=True)

    def at(self, row: int) -> tuple[int, int, int, int]:
        return self.lanes[row], self.ask_ids[row], self.episodes[row], self.steps[row]

    def only(self, row: int) -> Addresses:
        return Addresses(*([value] for value in self.at(row)))


def failure(
    error: BrokerError, lane: int, ask_id: int, episode: int = 0, step: int = 0, ended: bool = True
) -> bytes:
    """One row's failure, serialised."""
    return codec.failure_to_proto(
        Failure(
            lane=lane,
            ask_id=ask_id,
            episode=episode,
            step=step,
            code=error.code_number,
            reason=error.reason_or_default,
            message=error.message,
            field=error.field,
            retry_after_ms=error.retry_after_ms,
            outcome=error.outcome,
            ended=ended,
        )
    ).SerializeToString()


def from_contract(error: ContractError) -> InvalidRequest:
    """What the codec refuses is the caller's fault; its message names the field and the fix."""
    return InvalidRequest(error.message, error.reason, error.field)
