"""The bench runs whole, against the real servers, and its ratios are what they say they are."""

import json

import pytest

from load_tests.__main__ import main
from load_tests.closed_loop import LoadFailed, finished
from load_tests.messages import Shape, ask_batch


def test_the_hot_path_bench_writes_every_line_of_its_report(tmp_path, monkeypatch):
    out = tmp_path / "hot.json"
    assert main(["bench", "hot-path", "--out", str(out), "--seconds", "0.2", "--repeats", "1"]) == 0
    report = json.loads(out.read_text())
    for name in ("session", "session_paid", "session_1", "unary", "unary_1", "rows256", "rows256_rule"):
        row = report[name]
        assert row["rows_per_s"] > 0
        assert row["ratio"] == pytest.approx(row["rows_per_s"] / row["echo_rows_per_s"])
        assert 0 < row["p50_us"] <= row["p99_us"]
    assert "guidance-load bench hot-path" in report["about"]["command"]
    assert out.with_suffix(".md").read_text().count("\n") == 2 + 7


def test_a_run_with_failures_is_no_figure():
    with pytest.raises(LoadFailed, match="2 asks failed"):
        finished([1.0], rows=1, failures=2, seconds=1.0)


def test_every_message_has_ids_of_its_own():
    shape = Shape("t", rows=4)
    ids = [ask_id for number in range(3) for ask_id in ask_batch(shape, number, "rule").ask_id]
    assert len(set(ids)) == 12


@pytest.mark.parametrize("option", ["--seconds", "--repeats"])
def test_a_bench_of_no_time_is_refused(option, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["bench", "hot-path", "--out", str(tmp_path / "x.json"), option, "0"])
    assert "--seconds must be above 0" in capsys.readouterr().err
