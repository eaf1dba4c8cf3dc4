"""Three executors from one training run: strong, medium and weak are checkpoints of the same policy.

Every saved checkpoint plays the same validation episodes on the run's own task, deterministically. Strong is
the earliest that is good enough, or the best of them where no bar was set or none reaches it. Weak and medium
are earlier ones, nearest 0.45 and 0.7 of strong's return. Since a figure that was chosen for its height is an
optimistic one, the three then play episodes that nothing was chosen on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.environments import make
from agents.evaluate import evaluate
from agents.experiment import read_config, versions
from agents.export import named
from agents.files import write_atomically
from agents.logs import append_row, read_rows
from agents.policy_file import Policy

VALIDATION_SEED = 11_000
CONFIRMATION_SEED = 12_000
WEAK_SHARE = 0.45
MEDIUM_SHARE = 0.7
TOLERANCE = 0.1  # of strong's return: how far from its share a weak or medium may lie to be chosen in order
RULE = (
    "strong: the earliest checkpoint whose mean return reaches strong_at_least on the validation and on the "
    "confirmation episodes, the highest of the others where none does or no bar is set; weak, medium: the "
    "pair nearest 0.45 and 0.7 of it with weak before medium before strong in training steps; where such a "
    "pair misses a share by more than 0.1, the nearest earlier checkpoints whatever their order"
)

Say = Callable[[str], None]


class SelectionError(ValueError):
    """The run has no checkpoints to choose among, or none good enough; the message says which."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A checkpoint and its mean validation return."""

    steps: int
    mean: float


def choose(
    scored: Sequence[Scored], at_least: float | None = None, unconfirmed: frozenset[int] = frozenset()
) -> dict[str, Scored]:
    """`weak`, `medium` and `strong` by RULE. The steps in `unconfirmed` fell short as strong before.

    SelectionError: fewer than two checkpoints before strong.
    """
    strong = _strong([s for s in scored if s.steps not in unconfirmed], at_least)
    earlier = sorted((s for s in scored if s.steps < strong.steps), key=lambda s: s.steps)
    if len(earlier) < 2:
        raise SelectionError(f"two checkpoints before the strong one are needed, there are {len(earlier)}")

    def miss(one: Scored, share: float) -> float:
        return abs(one.mean - share * strong.mean)

    pairs = [(w, m) for i, w in enumerate(earlier) for m in earlier[i + 1 :]]
    weak, medium = min(pairs, key=lambda p: miss(p[0], WEAK_SHARE) + miss(p[1], MEDIUM_SHARE))
    if max(miss(weak, WEAK_SHARE), miss(medium, MEDIUM_SHARE)) > TOLERANCE * abs(strong.mean):
        weak = min(earlier, key=lambda s: miss(s, WEAK_SHARE))
        medium = min((s for s in earlier if s is not weak), key=lambda s: miss(s, MEDIUM_SHARE))
    return {"weak": weak, "medium": medium, "strong": strong}


def _strong(scored: Sequence[Scored], at_least: float | None) -> Scored:
    good = [] if at_least is None else [s for s in scored if s.mean >= at_least]
    if good:
        return min(good, key=lambda s: s.steps)
    return max(scored, key=lambda s: s.mean, default=Scored(0, 0.0))


def checkpoints(run: Path) -> dict[int, Path]:
    """Saved policies by training step, earliest first."""
    saved = sorted((run / "checkpoints").glob("step_*.safetensors"))
    return {int(path.stem.removeprefix("step_")): path for path in saved}


def score(run: Path, episodes: int, say: Say = print) -> list[dict[str, Any]]:
    """Evaluate every checkpoint not evaluated yet; `validation.jsonl` in the run folder keeps the figures."""
    kept = run / "validation.jsonl"
    done = {row["steps"]: row for row in read_rows(kept) if row["episodes"] == episodes}
    for steps, path in checkpoints(run).items():
        if steps not in done:
            row = {"steps": steps, "seed": VALIDATION_SEED, **_play(path, episodes, VALIDATION_SEED)}
            append_row(kept, row)
            say(f"{run}: step {steps:>9}  return {row['mean']:8.1f} +- {row['standard_error']:.1f}")
            done[steps] = row
    return [done[steps] for steps in sorted(done)]


@dataclass(frozen=True, slots=True)
class Effort:
    """How many episodes each checkpoint plays to be chosen, and each chosen one to be confirmed.

    `at_least` is what strong must reach on both, if anything.
    """

    episodes: int = 40
    confirm: int = 100
    at_least: float | None = None


def select(run: Path, out: Path, effort: Effort, command: Sequence[str], say: Say = print) -> dict[str, Any]:
    """Choose the three, copy them with their critics to `out`, and describe the choice in `selection.json`.

    SelectionError, with nothing written, if strong does not reach `effort.at_least`.
    """
    config, rows = read_config(run), score(run, effort.episodes, say)
    scored, saved, short = [Scored(row["steps"], row["mean"]) for row in rows], checkpoints(run), set[int]()
    while True:  # until a strong one holds on episodes that did not choose it
        chosen = choose(scored, effort.at_least, frozenset(short))
        strong = chosen["strong"]
        confirmed = _confirm("strong", strong, saved[strong.steps], effort.confirm, say)
        reached = confirmed["confirmation"]["mean"]
        if effort.at_least is None or reached >= effort.at_least:
            break
        if strong.mean < effort.at_least:
            raise SelectionError(
                f"{run}: the strong executor reaches {reached:.0f}, below {effort.at_least:.0f}"
            )
        short.add(strong.steps)
    executors = {
        name: _confirm(name, chosen[name], saved[chosen[name].steps], effort.confirm, say)
        for name in ("weak", "medium")
    } | {"strong": confirmed}
    for name, one in chosen.items():
        named(Policy.load(saved[one.steps])).save(out / f"{name}.safetensors")
    report = {
        "task": config.task,
        "training_seed": config.seed,
        "horizon_steps": config.ppo.total_steps,
        "considered_up_to_step": rows[-1]["steps"],
        "rule": RULE,
        "strong_at_least": effort.at_least,
        "fell_short_when_confirmed": sorted(short),
        "deterministic": True,
        "validation": {"episodes": effort.episodes, "seed": VALIDATION_SEED},
        "confirmation": {"episodes": effort.confirm, "seed": CONFIRMATION_SEED},
        "executors": executors,
        "checkpoints": rows,
        "command": list(command),
        "versions": versions(),
    }
    write_atomically(out / "selection.json", (json.dumps(report, indent=1) + "\n").encode())
    return report


def _confirm(name: str, one: Scored, path: Path, episodes: int, say: Say) -> dict[str, Any]:
    fresh = _play(path, episodes, CONFIRMATION_SEED)
    say(f"{name}: step {one.steps}, {one.mean:.1f} where chosen, {fresh['mean']:.1f} on fresh episodes")
    return {"steps": one.steps, "validation_mean": one.mean, "confirmation": fresh}


def _play(path: Path, episodes: int, seed: int) -> dict[str, Any]:
    policy = Policy.load(path)
    result = evaluate(policy, lambda: make(policy.description["task"]), episodes, seed)
    return {**result.to_json(), "standard_error": result.standard_error}
