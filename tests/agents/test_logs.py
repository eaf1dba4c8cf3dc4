"""Progress files: two views of the same rows, cut back where a run goes on."""

from __future__ import annotations

import math
from pathlib import Path

from agents.files import write_atomically
from agents.logs import ProgressLog, read_rows


def test_both_files_hold_the_same_rows_and_a_gap_is_empty_not_nan(tmp_path: Path) -> None:
    log = ProgressLog(tmp_path)
    log.write({"steps": 10.0, "a": math.nan})
    log.write({"steps": 20.0, "a": 1.5})
    assert read_rows(log.jsonl) == [{"steps": 10.0, "a": None}, {"steps": 20.0, "a": 1.5}]
    assert log.csv.read_text() == "steps,a\n10.0,\n20.0,1.5\n"


def test_rewinding_leaves_what_never_stopping_would_have_left(tmp_path: Path) -> None:
    log = ProgressLog(tmp_path)
    log.write({"steps": 10.0, "a": math.nan})
    kept = log.jsonl.read_bytes(), log.csv.read_bytes()
    log.write({"steps": 20.0, "a": 1.5})
    log.rewind(10)
    assert (log.jsonl.read_bytes(), log.csv.read_bytes()) == kept
    log.rewind(0)
    assert read_rows(log.jsonl) == []
    assert not log.csv.exists()


def test_a_line_cut_short_by_a_crash_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"steps": 1}\n{"ste')
    assert read_rows(path) == [{"steps": 1}]
    assert read_rows(tmp_path / "absent") == []


def test_a_file_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["x"]
