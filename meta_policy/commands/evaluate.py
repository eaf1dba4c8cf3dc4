"""`guidance-meta evaluate`: all methods over the same episodes, against a live broker or on the virtual
clock."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    evaluate = commands.add_parser(
        "evaluate", help="compare all methods over the same episodes; an interrupted one goes on"
    )
    evaluate.add_argument("task", nargs="?", default="PerturbedHopper")
    clock = evaluate.add_mutually_exclusive_group(required=True)
    clock.add_argument("--live", action="store_true", help="a real broker, at the task's control rate")
    clock.add_argument("--virtual", action="store_true", help="recorded latencies, no broker")
    evaluate.add_argument("--out", type=Path, required=True)
    evaluate.add_argument("--episodes", type=int, default=100)
    evaluate.add_argument("--lanes", type=int, default=4)
    evaluate.add_argument("--executors", default="1,2", help="executor seeds")
    evaluate.add_argument("--regime", choices=("realtime", "blocking", "both"), default="realtime")
    evaluate.add_argument(
        "--period-scales",
        default="1",
        help="control periods, in the task's own; claims are made at the first, live is held against virtual "
        "at all",
    )
    evaluate.add_argument(
        "--all-baselines",
        action="store_true",
        help="matched baselines at every point, not at the main one only",
    )
    evaluate.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    import uvloop

    from meta_policy.evaluation.comparison import Wanted, compare, estimated_s, write_all
    from meta_policy.presets import preset_of

    regimes = ("realtime", "blocking") if arguments.regime == "both" else (arguments.regime,)
    wanted = Wanted(
        preset_of(arguments.task),
        arguments.live,
        tuple(map(int, arguments.executors.split(","))),
        regimes,
        tuple(map(float, arguments.period_scales.split(","))),
        arguments.episodes,
        arguments.lanes,
        arguments.all_baselines,
    )
    print(f"at most {estimated_s(wanted) / 60:.0f} minutes; what was played before is not played again")
    results = uvloop.run(compare(wanted, arguments.out, lambda line: print(line, flush=True)))
    write_all(wanted, results, arguments.out)
    print((arguments.out / "table.md").read_text())
    return 0
