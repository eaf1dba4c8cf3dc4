"""What a source is, what it charges, and how it is doing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from protos.types.guidance import GuidanceKind
from protos.types.schemas import ActionSpec, TensorSpec


class ProviderKind(IntEnum):
    RULES = 1
    POLICY = 2
    PLANNER = 3
    DEMONSTRATIONS = 4
    LLM = 5
    REMOTE = 6
    HUMAN = 7
    SIMULATED = 8


class ProviderState(IntEnum):
    READY = 1
    LOADING = 2
    WARMING = 3
    DRAINING = 4
    OPEN = 5
    COOLING = 6
    REMOVED = 7


class StateScope(IntEnum):
    """How long a source remembers. Anything but NONE is never cached, coalesced or hedged."""

    NONE = 1
    EPISODE = 2
    SESSION = 3


@dataclass(frozen=True, slots=True)
class Price:
    """What a source charges. A lease of H steps is listed at ``usd_per_ask + H * usd_per_leased_step``."""

    usd_per_ask: float = 0.0
    usd_per_leased_step: float = 0.0
    usd_per_input_token: float = 0.0
    usd_per_output_token: float = 0.0
    billed_when_cancelled: bool = False

    @property
    def free(self) -> bool:
        per_token = self.usd_per_input_token or self.usd_per_output_token
        return not (self.usd_per_ask or self.usd_per_leased_step or per_token)

    def estimate(self, hold_steps: int) -> float:
        """USD that one row may cost before tokens are known; ``hold_steps`` 0 is a single answer."""
        return self.usd_per_ask + hold_steps * self.usd_per_leased_step


@dataclass(frozen=True, slots=True)
class Reads:
    prefix: bool = False
    sim_state: bool = False
    context: bool = False
    history: bool = False


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    provider_id: str
    kind: ProviderKind
    guidance_kinds: frozenset[GuidanceKind]
    price: Price = Price()
    tasks: tuple[str, ...] = ()
    observations: tuple[TensorSpec, ...] = ()
    action: ActionSpec | None = None
    timeout_ms: int = 0
    max_concurrency: int = 0
    state_scope: StateScope = StateScope.NONE
    chunk_len: int = 0
    period_us: int = 0
    layout_id: str = ""
    action_names: tuple[str, ...] = ()
    max_delay_steps: int = 0
    reads: Reads = Reads()
    key_fields: tuple[str, ...] = ()
    leasable: bool = False


@dataclass(frozen=True, slots=True)
class LatencyQuantiles:
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    p99_ms: float = 0.0
    samples: int = 0


@dataclass(frozen=True, slots=True)
class PredictionQuality:
    agreement: float = 0.0
    error_p90: float = 0.0
    served_share: float = 0.0


@dataclass(frozen=True, slots=True)
class ProviderUpdate:
    """The live state of one provider, as a meta-policy sees it without a call."""

    provider_id: str
    state: ProviderState
    progress: float = 0.0
    latency: LatencyQuantiles = LatencyQuantiles()
    price: Price = Price()
    in_flight: int = 0
    queued: int = 0
    prediction: PredictionQuality | None = None
    config_generation: int = 0
    info: ProviderInfo | None = None
