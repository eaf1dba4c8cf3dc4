import json
from dataclasses import replace
from pathlib import Path

import pytest

from meta_policy.evaluation.rows import COLUMNS, Row, read_rows, write_rows

ROW = Row(
    task="guidance/PerturbedHopper-v0",
    mix="rule+medium+strong",
    clock="live",
    regime="realtime",
    delay_steps=0,
    degradation="none",
    method="head",
    point="beta=1",
    executor_seed=1,
    head_seed=0,
    episode_seed=20_000_000,
    episode_return=1000.5,
    guided_share=0.15,
    asked_share=0.03,
    paid_share=0.1,
    price_usd=0.02,
    wait_ms=0.0,
    latency_cost=0.0,
    switches_per_100=4.0,
    p50_first_ms=2.0,
    p95_first_ms=None,
    missed_ticks=0,
    period_ms=8.0,
)


def test_the_columns_are_the_published_ones():
    assert ", ".join(COLUMNS) == (
        "task, mix, clock, regime, delay_steps, degradation, method, point, executor_seed, head_seed, "
        "episode_seed, return, guided_share, asked_share, paid_share, price_usd, wait_ms, latency_cost, "
        "switches_per_100, p50_first_ms, p95_first_ms, missed_ticks, period_ms"
    )


def test_rows_come_back_as_they_were_written(tmp_path: Path):
    rows = [ROW, replace(ROW, method="never", p50_first_ms=None)]
    write_rows(tmp_path / "frontier.json", rows)
    assert read_rows(tmp_path / "frontier.json") == rows


def test_what_is_not_finite_is_null_in_the_file(tmp_path: Path):
    write_rows(tmp_path / "frontier.json", [replace(ROW, p50_first_ms=float("nan"))])
    assert json.loads((tmp_path / "frontier.json").read_text())[0]["p50_first_ms"] is None


def test_a_missing_column_is_named():
    with pytest.raises(KeyError, match="guided_share"):
        Row.from_json({k: v for k, v in ROW.to_json().items() if k != "guided_share"})
