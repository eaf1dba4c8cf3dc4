from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from meta_policy.cost import Costs
from meta_policy.decision.baselines import Never
from meta_policy.evaluation.conditions import Arm, Condition
from meta_policy.evaluation.episodes import Episode
from meta_policy.evaluation.evaluation import Parts, Played, evaluate, rows_of
from meta_policy.evaluation.rows import Row

WHERE = Condition("guidance/PerturbedHopper-v0", "rule+strong", "live", "realtime", executor_seed=1)
ARM = Arm("head", "18% guided", Never, beta=0.5, head_seed=1)
EPISODE = Episode(
    seed=7,
    beta=0.5,
    total_return=900.0,
    steps=200,
    guided=40,
    asked=10,
    paid=30,
    switches=20,
    price_usd=0.03,
    wait_ms=500.0,
    first_ms=[1.0, 2.0, 3.0],
)


class Player:
    """Counts what it is asked to play; every episode is `EPISODE` under its own seed."""

    def __init__(self, **changes: int) -> None:
        self.played: list[str] = []
        self.changes = changes

    async def __call__(self, arm: Arm, seeds: Sequence[int]) -> list[Episode]:
        self.played.append(arm.method)
        return [replace(EPISODE, seed=seed, **self.changes) for seed in seeds]


def row(played: Played, costs: Costs) -> Row:
    return rows_of(played, costs)[0]


def test_a_row_holds_shares_of_the_steps_of_its_episode():
    told = row(Played(WHERE, "head", "18% guided", 1, [EPISODE]), Costs(rate=1000.0, tau=20.0))
    assert (told.guided_share, told.asked_share, told.paid_share) == (0.2, 0.05, 0.15)
    assert told.switches_per_100 == 10.0
    assert told.latency_cost == pytest.approx(10.0)
    assert told.p50_first_ms == 2.0
    assert (told.executor_seed, told.head_seed, told.episode_seed) == (1, 1, 7)


def test_an_episode_without_asks_has_no_time_to_first_guidance():
    told = row(Played(WHERE, "never", "", -1, [replace(EPISODE, first_ms=[])]), Costs(1000.0))
    assert told.p50_first_ms is None


def test_shares_of_a_run_are_of_all_its_steps_not_means_over_episodes():
    short = replace(EPISODE, steps=100, guided=100)
    long = replace(EPISODE, steps=900, guided=0)
    assert Played(WHERE, "head", "", 1, [short, long]).share("guided") == 0.1


async def test_what_was_played_before_is_not_played_again(tmp_path: Path):
    player = Player()
    first = await evaluate(WHERE, [ARM], [1, 2], player, Parts(tmp_path))
    again = await evaluate(WHERE, [ARM], [1, 2], player, Parts(tmp_path))
    assert player.played == ["head"]
    assert again == first


@pytest.mark.parametrize(
    ("condition", "arm", "seeds"),
    [
        (WHERE, ARM, [1, 3]),
        (WHERE, replace(ARM, beta=0.6), [1, 2]),
        (replace(WHERE, mix="rule"), ARM, [1, 2]),
    ],
    ids=["other episodes", "another beta", "another mix"],
)
async def test_anything_else_is_played_anew(tmp_path: Path, condition: Condition, arm: Arm, seeds: list[int]):
    player = Player()
    await evaluate(WHERE, [ARM], [1, 2], player, Parts(tmp_path))
    await evaluate(condition, [arm], seeds, player, Parts(tmp_path))
    assert player.played == ["head", "head"]


async def test_a_void_run_is_played_again(tmp_path: Path):
    player = Player(missed_ticks=3)  # of 200 steps
    (played,) = await evaluate(WHERE, [ARM], [1], player, Parts(tmp_path))
    assert played.void
    await evaluate(WHERE, [ARM], [1], player, Parts(tmp_path))
    assert player.played == ["head", "head"]


def test_one_missed_tick_in_a_hundred_does_not_void_a_run():
    assert not Played(WHERE, "head", "", 1, [replace(EPISODE, missed_ticks=2)]).void
