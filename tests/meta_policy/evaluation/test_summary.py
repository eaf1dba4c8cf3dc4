from __future__ import annotations

import pytest

from meta_policy.cost import Costs
from meta_policy.evaluation import table
from meta_policy.evaluation.conditions import Condition
from meta_policy.evaluation.episodes import Episode
from meta_policy.evaluation.evaluation import Played
from meta_policy.evaluation.summary import Table, agreement, over_runs, pooled, tabulate

FREE = Costs(rate=1000.0)
WHERE = Condition("guidance/PerturbedHopper-v0", "rule+strong", "live", "realtime", executor_seed=1)


def played(
    method: str,
    returns: list[float],
    point: str = "",
    guided: int = 0,
    wait_ms: float = 0.0,
    usd: float = 0.0,
) -> Played:
    head_seed = 1 if method == "head" else -1
    episodes = [
        Episode(i, total_return=r, steps=100, guided=guided, wait_ms=wait_ms, price_usd=usd)
        for i, r in enumerate(returns)
    ]
    return Played(WHERE, method, point, head_seed, episodes)


NEVER = played("never", [100.0, 300.0])
STRONG = played("always_strong", [500.0, 700.0], guided=95)
RULE = played("always_rule", [50.0, 50.0])
HEAD = played("head", [400.0, 610.0], "18% guided", guided=18)
RANDOM = played("random", [110.0, 320.0], "18% guided", guided=18)
ALL = [NEVER, RULE, STRONG, HEAD, RANDOM]


def line_of(told: Table, method: str):
    return next(line for line in told.lines if line.method == method)


def test_gain_is_relative_to_the_best_single_source():
    told = tabulate(ALL, FREE)
    assert told.reference == "always_strong"
    assert line_of(told, "head").gain.value == pytest.approx((505 - 200) / (600 - 200))
    assert line_of(told, "always_rule").gain.value < 0


def test_the_head_is_compared_with_what_was_matched_to_it_and_with_never():
    told = tabulate([*ALL, played("random", [0.0, 0.0], "5% guided")], FREE)
    assert [(c.other, c.point) for c in told.comparisons] == [
        ("never", "18% guided"),
        ("random", "18% guided"),
    ]
    assert told.comparisons[1].difference.value == pytest.approx(290.0)
    assert told.comparisons[1].difference.excludes_zero


def test_waiting_is_charged_in_the_blocking_regime():
    waiting = played("head", [400.0, 610.0], "18% guided", guided=18, wait_ms=2_000.0)
    told = tabulate([NEVER, STRONG, waiting], Costs(rate=1000.0, tau=20.0))
    assert line_of(told, "head").mean_return == 505.0
    assert line_of(told, "head").latency_cost == 40.0
    assert line_of(told, "head").gain.value == pytest.approx((465 - 200) / (600 - 200))


def test_live_agrees_with_virtual_within_a_tenth_and_shares_within_a_twentieth():
    virtual = played("head", [400.0, 600.0, 500.0], guided=20, usd=0.10)
    near = played("head", [405.0, 610.0, 495.0], guided=20, usd=0.103)
    assert agreement(near, virtual).holds


@pytest.mark.parametrize(
    "live",
    [
        played("head", [300.0, 450.0, 390.0], guided=20, usd=0.10),
        played("head", [400.0, 600.0, 500.0], guided=22, usd=0.10),
        played("head", [400.0, 600.0, 500.0], guided=20, usd=0.09),
    ],
    ids=["another return", "another share", "another spend"],
)
def test_live_disagrees_with_virtual_by(live: Played):
    virtual = played("head", [400.0, 600.0, 500.0], guided=20, usd=0.10)
    assert not agreement(live, virtual).holds


def test_over_runs_takes_the_mean_over_executors():
    better = [NEVER, STRONG, played("head", [500.0, 700.0], "18% guided")]
    interval = over_runs({1: ALL, 2: better}, FREE, "head", "18% guided")
    assert interval.value == pytest.approx((0.7625 + 1.0) / 2)


def test_the_table_shows_every_line_and_marks_the_void():
    missed = played("always_medium", [400.0, 500.0])
    missed.episodes[0].missed_ticks = 50
    text = table.markdown(tabulate([*ALL, missed], FREE))
    assert text.count("\n| ") == 7  # the heading and six methods
    assert "**void**" in text
    assert "head less random at 18% guided: +290" in text


def test_conditions_are_pooled_by_method_over_all_their_episodes():
    twin = played("head", [500.0, 500.0], "18% guided", guided=18)
    (together,) = pooled([(HEAD, twin), (HEAD, twin), (NEVER, NEVER)])
    assert (together.method, together.guided_ratio) == ("head", 1.0)
    assert together.returns.value == pytest.approx(0.01)
