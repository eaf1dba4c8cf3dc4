"""`guidance-meta demo`: four agents against a live broker, and a report of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    demo = commands.add_parser("demo", help="four agents ask a live broker only when it pays")
    demo.add_argument("task", nargs="?", default="PerturbedHopper")
    demo.add_argument("--executor-seed", type=int, default=2)
    demo.add_argument("--episodes", type=int, default=8, help="of each method, the same for all")
    demo.add_argument(
        "--period-scale",
        type=float,
        default=3.0,
        help="control periods in the task's own; 1 wants a round trip well below half a period "
        "(4 ms on the Hopper)",
    )
    demo.add_argument("--out", type=Path, default=Path("runs/demo"))
    demo.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    import asyncio
    import sys

    import uvloop

    from meta_policy.demo.demo import Shown, show, wanted
    from meta_policy.demo.drawing import display_for
    from meta_policy.demo.progress import Pace
    from meta_policy.demo.result import finish
    from meta_policy.presets import preset_of

    preset = preset_of(arguments.task)
    what = wanted(preset, arguments.executor_seed, arguments.episodes, arguments.period_scale)
    print(f"control at {what.setting.period_ms:g} ms a step ({arguments.period_scale:g} x the task's own)")
    shown, interrupted = Shown(), False
    print(f"at most {what.bound_s:.0f} s; Ctrl-C ends it with a report of what there was", flush=True)
    try:
        runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        with Pace(display_for(sys.stdout)) as pace, runner:
            runner.run(show(what, shown, pace))
    except KeyboardInterrupt:
        interrupted = True
    finish(what, shown, arguments.out)
    return 130 if interrupted else 0
