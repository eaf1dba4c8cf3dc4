from __future__ import annotations

import re
from typing import Any

import pytest

from meta_policy.demo.pictures import PALETTE, Point, Timeline
from meta_policy.demo.report import committed_points, render
from meta_policy.evaluation.rows import Row
from tests.meta_policy.evaluation.test_rows import ROW

METHOD = {
    "method": "head",
    "label": "head",
    "returns": [1100.0, 1120.0],
    "mean_return": 1110.0,
    "gain_recovered": 0.74,
    "guided_share": 0.171,
    "asked_share": 0.035,
    "paid_share": 0.171,
    "price_usd": 0.1101,
    "p50_first_ms": 2.1,
    "p95_first_ms": 3.9,
    "missed_share": 0.0012,
    "void": False,
}
RESULT: dict[str, Any] = {
    "task": "guidance/PerturbedHopper-v0",
    "executor_seed": 1,
    "head": "head1.safetensors",
    "period_ms": 8.0,
    "lanes": 4,
    "complete": True,
    "seconds": 71.3,
    "machine": "2 cores",
    "episode_seeds": [1, 2],
    "notes": [],
    "methods": [METHOD],
    "agents": [],
    "providers": [],
    "broker": {"metrics_url": "http://127.0.0.1:41234/metrics", "starts": 1},
}
EPISODE = Timeline(("rule", "strong"), (1.0, 2.0, 3.0), (-1, 1, 1), (-1, 1, -1), 8.0)


def test_the_page_says_what_the_result_says():
    page = render(RESULT, [], EPISODE)
    for figure in ("1110", "74 %", "17.1 %", "0.1101", "2.1 / 3.9", "0.12 %", "127.0.0.1:41234/metrics"):
        assert figure in page


def test_the_page_needs_nothing_from_elsewhere():
    page = render(RESULT, [], EPISODE)
    assert not re.search(r'(src|href)="(?!#)', page)
    assert "@import" not in page
    assert "url(http" not in page


def test_pictures_follow_the_page_in_light_and_dark():
    page = render(RESULT, [Point("never", "never", 0.0, 700.0)], EPISODE)
    assert page.count("<svg") == 2
    assert "var(--head)" in page
    assert "var(--ink)" in page
    assert not any(placeholder in page for placeholder in PALETTE.values())


def test_a_run_stopped_at_once_still_has_a_page():
    page = render(RESULT | {"complete": False, "methods": []}, [], None)
    assert "Partial." in page


def test_notes_are_shown_and_nothing_in_them_is_markup():
    page = render(RESULT | {"notes": ["the broker ended <b>"]}, [], EPISODE)
    assert "the broker ended &lt;b&gt;" in page


def row(**changes: Any) -> Row:
    return Row(**{name: getattr(ROW, name) for name in Row.__dataclass_fields__} | changes)


def test_committed_points_are_means_over_the_live_episodes_of_the_same_executor():
    rows = [
        row(episode_return=1000.0, guided_share=0.1),
        row(episode_return=1200.0, guided_share=0.2),
        row(episode_return=1.0, clock="virtual"),
        row(episode_return=1.0, executor_seed=2),
        row(episode_return=1.0, regime="blocking"),
        row(episode_return=1.0, period_ms=24.0),
    ]
    (point,) = committed_points(rows, ROW.task, 1)
    assert (point.method, point.mean_return, point.guided_share) == ("head", 1100.0, pytest.approx(0.15))
