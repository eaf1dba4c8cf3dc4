"""COMPOSITION ROOT of everything on the virtual clock: executor, sources, traces, lanes, loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agents.policy_file import Policy
from agents.tasks import make_task, task_info
from meta_policy.guide import Regime
from meta_policy.lanes import Lanes
from meta_policy.loop import Loop
from meta_policy.moves import MoveSet
from meta_policy.presets import Preset, Source
from meta_policy.virtual.guide import VirtualGuide, VirtualSource
from meta_policy.virtual.lean_hopper import LeanHopper
from meta_policy.virtual.rules import RULES
from meta_policy.virtual.traces import Traces


def executor(folder: Path, strength: str) -> Policy:
    """The policy file of one strength in an executor seed's folder."""
    return Policy.load(folder / f"{strength}.safetensors")


def virtual_loop(
    preset: Preset,
    executors: Path,
    traces: Traces,
    lanes: int,
    regime: Regime = "realtime",
    latency_scale: float = 1.0,
    seed: int = 0,
) -> tuple[Loop, VirtualGuide]:
    """Lanes of the preset's task, acting by the weak executor of a folder, and the guide under them."""
    info = task_info(preset.task)
    guide = VirtualGuide(
        [virtual_source(preset, source, executors) for source in preset.sources],
        traces,
        lanes,
        info.action_dim,
        preset.period_ms,
        regime,
        preset.max_age_steps,
        latency_scale,
        seed,
    )
    tasks = Lanes(lambda: fast_task(preset.task), lanes)
    moves = MoveSet(preset.provider_ids)
    return Loop(tasks, executor(executors, "weak"), guide, moves, preset.rules(), seed), guide


def fast_task(task_id: str) -> Any:
    """The task, or what stands in for it bit for bit in fewer instructions."""
    task = make_task(task_id)
    return LeanHopper(task) if task.info.stock_id == "Hopper-v5" else task


def virtual_source(preset: Preset, source: Source, executors: Path) -> VirtualSource:
    """The rule, or a policy file's deterministic action."""
    if source.strength is None:
        return VirtualSource(source.provider_id, RULES[preset.task], source.usd_per_step)
    policy = executor(executors, source.strength)
    return VirtualSource(source.provider_id, lambda rows: policy.predict(rows)[0], source.usd_per_step)
