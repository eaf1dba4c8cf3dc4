"""One lane's side of the protocol: its episode, generation, leases, registers and constraints."""

from __future__ import annotations

from agents.client import lane as join
from agents.client.advice import Advice, advice_for
from agents.client.asks import OpenAsk
from agents.client.constraints import FREE
from agents.client.errors import LaneMisuse
from agents.client.tubes import See, abandon
from protos.types import LaneEvent, LaneEventKind, LaneSpec

HELD_BACK = frozenset({LaneEventKind.PAUSED, LaneEventKind.FAULT, LaneEventKind.TAKEOVER})
"""States that a new session must be told again."""


class Lane:
    """`generation` rises at reset, goal change, takeover, fault, pause; `now` is the last step spoken of."""

    def __init__(self, spec: LaneSpec) -> None:
        self.spec = spec
        self.number = spec.lane
        self.generation = 1
        self.episode: int | None = None
        self.now = -1
        self.executed = -1
        self.event: LaneEvent | None = None
        self.leases: list[OpenAsk] = []
        self.passed: list[OpenAsk] = []  # leases whose last step is over, until they are taken note of
        self.envelope = FREE
        self.registers = join.Registers(0, 1)

    def start(self, episode: int) -> None:
        if self.episode is not None:
            raise LaneMisuse(
                f"lane {self.number} has episode {self.episode} open; end it before starting {episode}"
            )
        self.episode = episode
        self.now = self.executed = -1

    def end(self) -> int:
        """Returns the number of the episode that ended. What is held goes with it."""
        episode = self.require_episode()
        self.episode = None
        self.event = None
        self.raise_generation()
        return episode

    def take_event(self, kind: LaneEventKind, goal_id: str) -> LaneEvent:
        self.require_episode()
        if kind is not LaneEventKind.ACTIVE:
            self.raise_generation()
        event = LaneEvent(self.number, kind, self.generation, goal_id)
        self.event = event if kind in HELD_BACK else None
        return event

    def require_episode(self) -> int:
        if self.episode is None:
            raise LaneMisuse(f"lane {self.number} has no open episode; call start_episode first")
        return self.episode

    def raise_generation(self) -> None:
        self.generation += 1
        self.leases.clear()
        self.registers = join.raise_generation(
            self.registers, self.registers.session_generation, self.generation
        )

    def new_session(self, session_generation: int) -> None:
        """Nothing is delivered across session generations."""
        self.leases.clear()
        self.registers = join.raise_generation(self.registers, session_generation, self.generation)

    def advice(self, step: int) -> Advice | None:
        return advice_for(self.registers, self.spec, step)

    def runway_steps(self, step: int) -> int:
        """Steps from `step` on that held guidance or an open lease reaches; 0 is starving."""
        registers = self.registers
        steps = join.runway_steps(registers, step) if registers.action or registers.chunks else 0
        for lease in self.leases:
            if lease.step <= step:
                steps = max(steps, lease.last_step + 1 - step)
        return steps

    def leave_tubes(self, step: int, see: See) -> int:
        """Abandon what the observation of `step` has left the tube of; how many answers that was."""
        self.registers, left = abandon(self.registers, step, see)
        return len(left)

    def speak(self, step: int) -> None:
        """A step is being asked about or observed: those before it are over."""
        if step > self.now:
            self.now = step
            if step - 1 > self.executed:
                self._execute(step - 1)

    def execute(self, step: int) -> bool:
        """The action of `step` is final. True when guidance was due for it and none was there."""
        if step <= self.executed:
            return False
        due = any(lease.step <= step <= lease.last_step for lease in self.leases)
        starved = due and self.advice(step) is None
        self.now = max(self.now, step)
        self._execute(step)
        return starved

    def _execute(self, step: int) -> None:
        self.executed = step
        if self.registers.chunks:
            self.registers = join.executed(self.registers, step + 1)
        if self.leases and any(lease.last_step <= step for lease in self.leases):
            self.passed += [lease for lease in self.leases if lease.last_step <= step]
            self.leases = [lease for lease in self.leases if lease.last_step > step]
