"""The seam through which a meta-policy plugs into the rollout: who is asked, when, and what comes of it.

`QueryPolicy` decides from what is already known (no remote call is made to decide); `Guide` carries the
decision to a source of guidance and brings answers back. `Never()` with no guide is plain reinforcement
learning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

ALONE = -1


@dataclass(frozen=True, slots=True)
class StepContext:
    """What is known when a step is about to be taken; B rows, one a lane.

    observation `[B, O]` raw; own_action `[B, A]` unclipped; values `[K, B]` in raw discounted return, or None
    where the policy does not read them; episode_step `[B]`; runway_steps `[B]` steps of usable guidance left
    (0 = none).
    """

    step: int
    lanes: NDArray[np.int64]
    observation: NDArray[np.float64]
    own_action: NDArray[np.float32]
    episode_step: NDArray[np.int64]
    runway_steps: NDArray[np.int64]
    values: NDArray[np.float64] | None = None
    providers: Sequence[Any] | None = None
    pending: Any = None
    budget: Any = None

    @property
    def value_mean(self) -> NDArray[np.float64]:
        """Ensemble mean `[B]`."""
        return self._ensemble().mean(axis=0)

    @property
    def value_spread(self) -> NDArray[np.float64]:
        """Ensemble standard deviation `[B]`, the value uncertainty."""
        return self._ensemble().std(axis=0)

    def _ensemble(self) -> NDArray[np.float64]:
        if self.values is None:
            raise ValueError("this query policy reads values but does not say so: set reads_values = True")
        return self.values


@dataclass(frozen=True, slots=True)
class Decision:
    """choice `[B]`: an index into `providers`, or ALONE; hold_steps `[B]`: how long a row is guided."""

    choice: NDArray[np.int64]
    hold_steps: NDArray[np.int64]
    providers: tuple[str, ...] = ()

    @property
    def asks(self) -> NDArray[np.bool_]:
        return self.choice != ALONE

    def without(self, rows: NDArray[np.bool_]) -> Decision:
        """The same decision with the True rows left alone."""
        return Decision(
            np.where(rows, ALONE, self.choice), np.where(rows, 0, self.hold_steps), self.providers
        )

    @staticmethod
    def alone(rows: int) -> Decision:
        return Decision(np.full(rows, ALONE, np.int64), np.zeros(rows, np.int64))

    @staticmethod
    def ask(rows: NDArray[np.bool_], provider: str, hold: int) -> Decision:
        """Ask `provider` for the True rows, for `hold` steps."""
        return Decision(np.where(rows, 0, ALONE), np.where(rows, hold, 0), (provider,))


class QueryPolicy(Protocol):
    """Whether and whom to ask. `reads_values` makes the rollout evaluate the ensemble at every step."""

    reads_values: bool

    def decide(self, context: StepContext) -> Decision: ...


@dataclass(frozen=True, slots=True)
class Never:
    """Plain reinforcement learning."""

    reads_values: bool = False

    def decide(self, context: StepContext) -> Decision:
        return Decision.alone(len(context.lanes))


@dataclass(frozen=True, slots=True)
class Always:
    """Ask again as soon as nothing is held."""

    provider: str
    hold: int
    reads_values: bool = False

    def decide(self, context: StepContext) -> Decision:
        return Decision.ask(context.runway_steps == 0, self.provider, self.hold)


@dataclass(frozen=True, slots=True)
class EveryN:
    """Ask at every n-th step of each episode, first step included."""

    n: int
    provider: str
    hold: int
    reads_values: bool = False

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"EveryN needs n >= 1, got {self.n}")

    def decide(self, context: StepContext) -> Decision:
        return Decision.ask(context.episode_step % self.n == 0, self.provider, self.hold)


@dataclass(frozen=True, slots=True)
class Density:
    """The Gaussian that replacing actions were drawn from: known `[B]`, mean and std `[B, A]`, unclipped."""

    known: NDArray[np.bool_]
    mean: NDArray[np.float32]
    std: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Advice:
    """What guidance does to this step.

    replaced `[B]`; action `[B, A]`, read where replaced; price_usd `[B]`, what this step costs; ask_id `[B]`
    of the ask this step belongs to, made now, waited for or in use (0 = none). Without `density`, as for a
    deterministic source, replaced steps teach values but not the policy.
    """

    replaced: NDArray[np.bool_]
    action: NDArray[np.float32]
    price_usd: NDArray[np.float64]
    ask_id: NDArray[np.int64]
    density: Density | None = None

    def without(self, rows: NDArray[np.bool_]) -> Advice:
        """The same advice with nothing done to, or charged for, the True rows."""
        return Advice(
            self.replaced & ~rows,
            self.action,
            np.where(rows, 0.0, self.price_usd),
            np.where(rows, 0, self.ask_id),
            self.density,
        )


@dataclass(frozen=True, slots=True)
class Amendment:
    """A late answer's effect: the guidance reward of every step of the ask, the price of the whole ask."""

    ask_id: int
    reward: float
    price_usd: float


class Guide(Protocol):
    """Carries decisions to sources of guidance. It never draws from the learner's random streams."""

    def runway_steps(self) -> NDArray[np.int64]:
        """Steps of usable guidance left for every lane, `[N]`."""
        ...

    def submit(self, context: StepContext, decision: Decision) -> None: ...

    def collect(self, context: StepContext) -> Advice: ...

    def after_step(self, context: StepContext, outcome: Any) -> NDArray[np.float64]:
        """Take the step's outcome (a VectorStep) in; the guidance reward `[B]` of this step comes back."""
        ...

    def amendments(self) -> Sequence[Amendment]:
        """Answers that came after their step, asked for once before each update."""
        ...
