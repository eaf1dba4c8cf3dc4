"""One session's lanes: which episode is open on each, and which generation is in force. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from broker.errors import BrokerError, InvalidRequest, PreconditionFailed
from protos.types import LaneSpec


@dataclass(slots=True, eq=False)
class Lane:
    """``episode`` None: no episode is open. ``generation`` only rises."""

    spec: LaneSpec
    generation: int = 0
    episode: int | None = None
    last_ended: int | None = None

    def admit(self, episode: int, generation: int) -> BrokerError | None:
        """Why a row of this episode and generation cannot be asked; None: it can. Opens the episode."""
        if episode == self.episode:
            if generation < self.generation:
                return _stale(self.generation)
            self.generation = generation
            return None
        if self.episode is not None:
            message = f"episode: {self.episode} is open on this lane; end it before {episode} begins"
            return PreconditionFailed(message, "EPISODE_OPEN", "episode")
        if episode == self.last_ended:
            message = f"episode: {episode} has ended; what belongs to it is not answered any more"
            return PreconditionFailed(message, "EPISODE_ENDED", "episode")
        if generation < self.generation:
            return _stale(self.generation)
        self.episode, self.generation = episode, generation
        return None

    def end(self, episode: int, generation: int) -> BrokerError | None:
        """End the open episode; ``generation`` is in force from now on."""
        if self.episode is not None and episode != self.episode:
            message = f"episode: {self.episode} is open on this lane, not {episode}"
            return PreconditionFailed(message, "EPISODE_OPEN", "episode")
        self.episode, self.last_ended = None, episode
        self.generation = max(self.generation + 1, generation)
        return None

    def raise_to(self, generation: int) -> None:
        """A lane event: what belongs to an older generation is stale from now on."""
        self.generation = max(self.generation, generation)

    def current(self, episode: int, generation: int) -> bool:
        """Whether an answer for this episode and generation can still be acted on."""
        return episode == self.episode and generation >= self.generation


class Lanes:
    """The lanes that a hello declared. Rows of others are refused."""

    def __init__(self, specs: tuple[LaneSpec, ...]) -> None:
        self.by_number = {spec.lane: Lane(spec) for spec in specs}

    def __len__(self) -> int:
        return len(self.by_number)


def _stale(generation: int) -> PreconditionFailed:
    message = f"lane_generation: {generation} is in force on this lane; what is older is not answered"
    return PreconditionFailed(message, "STALE_GENERATION", "lane_generation")


def unknown_lane(number: int) -> InvalidRequest:
    return InvalidRequest(f"lane: {number} was not declared in hello", "UNKNOWN_LANE", "lane")
