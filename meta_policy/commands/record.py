"""`guidance-meta record`: latency traces through the real broker."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    record = commands.add_parser("record", help="record latency traces through a real broker")
    record.add_argument("task", nargs="?", default="PerturbedHopper")
    record.add_argument("--executor-seed", type=int, default=1)
    record.add_argument("--lanes", type=int, default=4)
    record.add_argument("--episodes", type=int, default=60)
    record.add_argument("--latency-scale", type=float, default=1.0)
    record.add_argument("--period-scale", type=float, default=1.0, help="control periods, in the task's own")
    record.add_argument("--out", type=Path, help="default: artifacts/traces/TASK/PERIODms.json")
    record.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    import uvloop

    from meta_policy import places
    from meta_policy.evaluation.evaluation import VOID_MISSED_SHARE
    from meta_policy.live.recording import record
    from meta_policy.live.stage import Setting
    from meta_policy.presets import preset_of

    preset = preset_of(arguments.task)
    setting = Setting(
        preset,
        arguments.executor_seed,
        arguments.lanes,
        period_scale=arguments.period_scale,
        latency_scale=arguments.latency_scale,
    )
    traces, missed = uvloop.run(record(setting, arguments.episodes))
    for name, ms in traces.latency_ms.items():
        p50, p99 = traces.quantile(name, 0.5), traces.quantile(name, 0.99)
        print(f"{name}: {len(ms)} answers, p50 {p50:.2f} ms, p99 {p99:.2f} ms")
    print(f"missed control ticks: {missed:.2%}")
    if missed > VOID_MISSED_SHARE:
        print("too many for these latencies to be believed; nothing was written. Try on a quiet machine.")
        return 1
    path = arguments.out or places.traces(preset, setting.period_ms)
    traces.save(path)
    print(path)
    return 0
