"""`guidance-meta points`: operating points of the committed heads, on validation seeds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

SHARES = (0.05, 0.10, 0.15, 0.19, 0.38)


def shares(text: str) -> tuple[float, ...]:
    """`5,10,19` in per cent."""
    return tuple(float(part) / 100 for part in text.split(","))


def add(commands: Any) -> None:
    points = commands.add_parser("points", help="choose operating points on validation seeds")
    points.add_argument("task", nargs="?", default="PerturbedHopper")
    points.add_argument("--executors", default="1,2", help="executor seeds")
    points.add_argument("--shares", type=shares, default=SHARES, help="per cent of steps guided")
    points.add_argument("--episodes", type=int, default=100)
    points.add_argument("--period-scale", type=float, default=1.0, help="control periods, in the task's own")
    points.add_argument(
        "--all-baselines",
        action="store_true",
        help="match baselines at every point, not at the main one only",
    )
    points.add_argument("--out", type=Path, help="default: beside the heads")
    points.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from meta_policy import places, seeds
    from meta_policy.evaluation import operating_points
    from meta_policy.evaluation.operating_points import MAIN_SHARE
    from meta_policy.live.stage import Setting
    from meta_policy.presets import preset_of
    from meta_policy.virtual.stage import VirtualStage

    preset = preset_of(arguments.task)
    episodes = seeds.first(seeds.VALIDATION, arguments.episodes)
    main = min(arguments.shares, key=lambda share: abs(share - MAIN_SHARE))
    found = []
    for executor_seed in map(int, arguments.executors.split(",")):
        stage = VirtualStage(
            Setting(
                preset,
                executor_seed,
                lanes=min(50, arguments.episodes),
                period_scale=arguments.period_scale,
            )
        )
        for head_seed, head in places.heads(preset, executor_seed).items():
            for share in arguments.shares:
                point = operating_points.choose(
                    preset,
                    head,
                    executor_seed,
                    head_seed,
                    share,
                    lambda arm, stage=stage: stage.play_now(arm, episodes),  # type: ignore[misc]
                    arguments.all_baselines or share == main,
                )
                found.append(point)
                print(
                    f"executor {executor_seed} head {head_seed}, {point.point}: beta {point.beta:.3g}, "
                    f"measured {point.guided_share:.1%}",
                    flush=True,
                )
        stage.close()
    if not found:
        raise FileNotFoundError(f"no heads under {places.points(preset).parent}; train one first")
    path = arguments.out or places.points(preset)
    operating_points.save(path, found)
    print(path)
    return 0
