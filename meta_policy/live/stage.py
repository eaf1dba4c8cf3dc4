"""COMPOSITION ROOT of everything live: a broker process, a session with its lanes, and the loop over them."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.client import GuidanceClient, Session
from agents.policy_file import Policy
from agents.tasks import task_info
from meta_policy import places
from meta_policy.evaluation import arms
from meta_policy.evaluation.conditions import Arm, Condition
from meta_policy.evaluation.episodes import Episode, play
from meta_policy.guide import Regime
from meta_policy.lanes import Lanes
from meta_policy.live.broker_process import BrokerProcess, free_ports
from meta_policy.live.guide import LiveGuide, open_lanes
from meta_policy.live.mix import mix_name, write_mix
from meta_policy.live.table import Quantiles
from meta_policy.loop import Loop, Watch
from meta_policy.moves import MoveSet
from meta_policy.presets import Preset
from meta_policy.virtual.traces import traces_for
from meta_policy.virtual.world import fast_task


@dataclass(frozen=True, slots=True)
class Setting:
    """What is played live. `latency_scale` and `period_scale` stretch the mix's latencies and the control
    period."""

    preset: Preset
    executor_seed: int
    lanes: int
    regime: Regime = "realtime"
    period_scale: float = 1.0
    latency_scale: float = 1.0
    seed: int = 0

    @property
    def period_ms(self) -> float:
        return self.preset.period_ms * self.period_scale

    @property
    def condition(self) -> Condition:
        return Condition(
            self.preset.task,
            mix_name(self.preset),
            "live",
            self.regime,
            self.executor_seed,
            self.period_scale,
        )


@dataclass(frozen=True, slots=True)
class Stage:
    """All that is up and running."""

    setting: Setting
    broker: BrokerProcess
    session: Session
    guide: LiveGuide
    lanes: Lanes
    own: Policy
    moves: MoveSet

    async def play(
        self,
        arm: Arm,
        seeds: Sequence[int],
        watch: Watch | None = None,
        ended: Callable[[Episode], None] | None = None,
    ) -> list[Episode]:
        """One arm over episode seeds, the garbage collector held back: its pauses would cost control
        ticks."""
        setting = self.setting
        rules = setting.preset.rules(setting.period_scale)
        loop = Loop(self.lanes, self.own, self.guide, self.moves, rules, setting.seed)
        with uncollected():
            return await play(
                loop, arms.decider_of(arm, self.own, setting.preset), seeds, arm.beta, watch, ended
            )


@asynccontextmanager
async def stage(setting: Setting, folder: Path | None = None) -> AsyncIterator[Stage]:
    """Start the broker and connect the lanes; all of it is gone when the block ends, however it ends.

    The broker's configuration, log and ledger are in `folder`, else in a temporary one.
    """
    with tempfile.TemporaryDirectory(prefix="guidance-") as temporary:
        broker = configured_broker(setting, folder or Path(temporary))
        async with broker, GuidanceClient(broker.address) as client:
            yield await _connected(setting, broker, client)


def configured_broker(setting: Setting, folder: Path) -> BrokerProcess:
    """The broker of a setting, on free ports, not started yet."""
    file = write_mix(
        setting.preset,
        setting.executor_seed,
        folder,
        free_ports(),
        period_scale=setting.period_scale,
        latency_scale=setting.latency_scale,
        seed=setting.seed,
    )
    return BrokerProcess(file.path, file.address, file.admin_address, folder / "broker.log")


async def _connected(setting: Setting, broker: BrokerProcess, client: GuidanceClient) -> Stage:
    preset = setting.preset
    session = await open_lanes(client, preset, setting.lanes, setting.period_scale)
    guide = LiveGuide(
        session,
        preset.provider_ids,
        setting.lanes,
        task_info(preset.task).action_dim,
        setting.period_ms,
        setting.regime,
        preset.max_age_steps,
        expected_latencies(setting),
    )
    own = Policy.load(places.executor(preset, setting.executor_seed, "weak"))
    lanes = Lanes(lambda: fast_task(preset.task), setting.lanes)
    return Stage(setting, broker, session, guide, lanes, own, MoveSet(preset.provider_ids))


def expected_latencies(setting: Setting) -> dict[str, Quantiles]:
    """Quantiles of the traces recorded or assumed for a setting, to go by before enough is measured."""
    preset, scale = setting.preset, setting.latency_scale
    traces = traces_for(preset, places.traces(preset, setting.period_ms))
    return {
        name: (
            traces.quantile(name, 0.5) * scale,
            traces.quantile(name, 0.95) * scale,
            traces.quantile(name, 0.99) * scale,
        )
        for name in preset.provider_ids
    }


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection inside; what was there before is left out of later ones."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
