"""What agents tell about answers: counted by the source that gave them, each ask once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from broker.asks.identity import Owner
from broker.events import Event, InvalidInput, OutcomeReported
from protos import codec
from protos.codec import ContractError
from protos.guidance.v1 import guidance_pb2 as pb


@dataclass(slots=True)
class Tally:
    accepted: int = 0
    duplicates: int = 0
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class Reports:
    emit: Callable[[Event], None]

    def take(self, owner: Owner, outcomes: Iterable[pb.Outcome]) -> Tally:
        """Late and duplicate reports are tolerated; one whose numbers are not finite is counted and left."""
        tally = Tally()
        for message in outcomes:
            try:
                outcome = codec.outcome_from_proto(message)
            except ContractError as error:
                self.emit(InvalidInput(error.reason))
                tally.unknown += 1
                continue
            self._count(owner, outcome.ask_id, outcome.used, tally)
        return tally

    def _count(self, owner: Owner, ask_id: int, used: bool, tally: Tally) -> None:
        provider_id = _provider_of(owner, ask_id)
        if provider_id is None:
            status = "unknown"
            tally.unknown += 1
        elif ask_id in owner.reported:
            status = "duplicate"
            tally.duplicates += 1
        else:
            status = "accepted"
            owner.reported.add(ask_id)
            tally.accepted += 1
        self.emit(OutcomeReported(provider_id or "", used, status))


def _provider_of(owner: Owner, ask_id: int) -> str | None:
    """The source that answered; None for an ask that is not known any more, or never was."""
    known = owner.known.get(ask_id)
    if not isinstance(known, tuple):
        return None
    ids = pb.AnswerBatch.FromString(known[2]).provider_ids
    return ids[0] if ids else ""
