from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agents.policy_file import Policy
from meta_policy import places
from meta_policy.evaluation import arms, comparison, operating_points
from meta_policy.evaluation.comparison import Wanted, arms_of, compare, estimated_s, write_all
from meta_policy.evaluation.conditions import Arm
from meta_policy.evaluation.episodes import Episode
from meta_policy.evaluation.operating_points import Matched, OperatingPoint, choose, load, save
from meta_policy.evaluation.rows import read_rows
from meta_policy.live.stage import Setting
from meta_policy.presets import Source, preset_of
from tests.meta_policy.worlds import executor

HOPPER = preset_of("PerturbedHopper")
MATCHED = {name: Matched(0.2, 0.19) for name in arms.MATCHED}
POINTS = [
    OperatingPoint("18% guided", 1, 1, beta=0.5, guided_share=0.18, matched=MATCHED),
    OperatingPoint("5% guided", 1, 1, beta=1.5, guided_share=0.05, matched=MATCHED),
]


@pytest.fixture
def one_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """One head of one executor, whose file is not looked at."""
    monkeypatch.setattr(places, "heads", lambda preset, seed: {1: Path("head1.safetensors")})
    monkeypatch.setattr(operating_points, "load", lambda path, seed: POINTS)
    monkeypatch.setattr(
        arms, "head", lambda path, beta, point, seed: Arm("head", point, arms.Never, beta, seed)
    )


@pytest.mark.usefixtures("one_head")
def test_baselines_are_matched_to_the_main_point():
    wanted = Wanted(HOPPER, True, (1,))
    found = [(arm.method, arm.point) for arm in arms_of(wanted, wanted.settings()[0])]
    assert found == [
        ("never", ""),
        ("always_rule", ""),
        ("always_medium", ""),
        ("always_strong", ""),
        ("head", "18% guided"),
        ("random", "18% guided"),
        ("periodic", "18% guided"),
        ("value_spread", "18% guided"),
        ("head", "5% guided"),
    ]


@pytest.mark.usefixtures("one_head")
def test_other_control_rates_are_played_by_the_head_and_never_only():
    wanted = Wanted(HOPPER, True, (1,), period_scales=(1.0, 2.0))
    slow = wanted.settings()[1]
    assert slow.period_ms == 16.0
    assert [arm.method for arm in arms_of(wanted, slow)] == ["never", "head"]


@pytest.mark.usefixtures("one_head")
def test_the_estimate_is_every_episode_at_full_length():
    wanted = Wanted(HOPPER, True, (1,), episodes=100, lanes=20)
    waves, methods = 5, 9
    assert estimated_s(wanted) == pytest.approx(waves * methods * 1000 * (8.0 + comparison.VIRTUAL_MS) / 1000)


class Shares:
    """A head whose share falls with beta, baselines that guide a little less than they are told."""

    def __init__(self) -> None:
        self.plays = 0

    def __call__(self, arm: Arm) -> list[Episode]:
        self.plays += 1
        share = 0.9 / (1 + arm.beta) if arm.method == "head" else 0.95 * self.told(arm)
        return [Episode(1, steps=1000, guided=round(1000 * share))]

    @staticmethod
    def told(arm: Arm) -> float:
        decider = arm.make()
        if arm.method == "periodic":
            return arms.HOLD / decider.every
        chance = decider.chance if arm.method == "random" else decider.share
        return chance * arms.HOLD / (chance * arms.HOLD + 1 - chance)


def test_a_point_is_where_the_head_guides_as_much_as_wanted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        arms, "head", lambda path, beta, point, seed: Arm("head", point, arms.Never, beta, seed)
    )
    measure = Shares()
    point = choose(HOPPER, Path("head"), 1, 1, 0.18, measure)
    assert point.guided_share == pytest.approx(0.18, abs=0.01)
    for matched in point.matched.values():
        assert matched.guided_share == pytest.approx(point.guided_share, abs=0.01)
    assert measure.plays < 15


def test_points_come_back_for_their_executor(tmp_path: Path):
    save(tmp_path / "points.json", [*POINTS, replace(POINTS[0], executor_seed=2)])
    assert load(tmp_path / "points.json", 1) == POINTS


async def test_a_comparison_on_the_virtual_clock_writes_its_three_files_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    own = executor(observations=11, actions=3)
    monkeypatch.setattr(places, "executor", lambda preset, seed, strength: Path("none"))
    monkeypatch.setattr(Policy, "load", staticmethod(lambda path: own))
    preset = replace(HOPPER, sources=(Source("rule", None, 0.001, 0.0, 0.0),))
    monkeypatch.setattr(places, "heads", lambda preset, seed: {})
    wanted = Wanted(preset, False, (1, 2), ("realtime", "blocking"), episodes=3, lanes=2)
    lines: list[str] = []
    results = await compare(wanted, tmp_path, lines.append)
    write_all(wanted, results, tmp_path)
    rows = read_rows(tmp_path / "frontier.json")
    assert len(rows) == 2 * 2 * 2 * 3  # regimes, executors, methods, episodes
    assert {row.method for row in rows} == {"never", "always_rule"}
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [table["reference"] for table in summary["tables"]] == ["always_rule"] * 4
    assert "never" in (tmp_path / "table.md").read_text()
    lines.clear()
    await compare(wanted, tmp_path, lines.append)
    assert len(lines) == 8
    assert all("played before" in line for line in lines)


def test_settings_are_one_a_condition():
    wanted = Wanted(HOPPER, True, (1, 2), ("realtime", "blocking"), (1.0, 2.0))
    assert [(s.regime, s.period_scale, s.executor_seed) for s in wanted.settings()] == [
        ("realtime", 1.0, 1),
        ("realtime", 1.0, 2),
        ("realtime", 2.0, 1),
        ("realtime", 2.0, 2),
        ("blocking", 1.0, 1),
        ("blocking", 1.0, 2),
    ]
    assert isinstance(wanted.settings()[0], Setting)
