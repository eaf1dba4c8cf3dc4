"""COMPOSITION ROOT of an evaluation on the virtual clock: the live stage's twin, without a wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agents.policy_file import Policy
from agents.tasks import task_info
from meta_policy import places
from meta_policy.evaluation import arms
from meta_policy.evaluation.conditions import Arm, Condition
from meta_policy.evaluation.episodes import Episode, play
from meta_policy.lanes import Lanes
from meta_policy.live.stage import Setting
from meta_policy.loop import Loop, without_waiting
from meta_policy.moves import MoveSet
from meta_policy.virtual.guide import VirtualGuide
from meta_policy.virtual.traces import traces_for
from meta_policy.virtual.world import fast_task, virtual_source


class VirtualStage:
    """Plays arms over the sources, latencies and control period of a `Setting`. Close it to free the
    tasks."""

    def __init__(self, setting: Setting) -> None:
        preset = setting.preset
        folder = places.executors(preset, setting.executor_seed)
        self.setting = setting
        self._sources = [virtual_source(preset, source, folder) for source in preset.sources]
        self._traces = traces_for(preset, places.traces(preset, setting.period_ms))
        self._own = Policy.load(places.executor(preset, setting.executor_seed, "weak"))
        self._lanes = Lanes(lambda: fast_task(preset.task), setting.lanes)
        self._moves = MoveSet(preset.provider_ids)

    @property
    def condition(self) -> Condition:
        return replace(self.setting.condition, clock="virtual")

    async def play(self, arm: Arm, seeds: Sequence[int]) -> list[Episode]:
        """One arm over episode seeds; the same every time."""
        setting = self.setting
        guide = VirtualGuide(
            self._sources,
            self._traces,
            setting.lanes,
            task_info(setting.preset.task).action_dim,
            setting.period_ms,
            setting.regime,
            setting.preset.max_age_steps,
            setting.latency_scale,
            setting.seed,
        )
        rules = setting.preset.rules(setting.period_scale)
        loop = Loop(self._lanes, self._own, guide, self._moves, rules, setting.seed)
        return await play(loop, arms.decider_of(arm, self._own, setting.preset), seeds, arm.beta)

    def play_now(self, arm: Arm, seeds: Sequence[int]) -> list[Episode]:
        """As `play`, for callers without an event loop."""
        return without_waiting(self.play(arm, seeds))

    def close(self) -> None:
        self._lanes.close()
