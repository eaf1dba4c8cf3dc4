"""Progress of a run as CSV and JSON lines, cut back to the checkpoint when the run goes on from there."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON-lines file; none without a file. A last line cut short by a crash is left out."""
    if not path.exists():
        return []
    rows = []
    for line in path.read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """One JSON line; a figure that is not there yet (NaN) becomes null."""
    clean = {key: None if isinstance(v, float) and math.isnan(v) else v for key, v in row.items()}
    with path.open("a") as file:
        file.write(json.dumps(clean) + "\n")


class ProgressLog:
    """`progress.jsonl` and `progress.csv`, the same rows in both, none of which depends on the clock."""

    def __init__(self, folder: Path) -> None:
        self.jsonl, self.csv = folder / "progress.jsonl", folder / "progress.csv"

    def write(self, row: Mapping[str, float]) -> None:
        append_row(self.jsonl, row)
        new = not self.csv.exists()
        with self.csv.open("a", newline="") as file:
            self._write_csv(file, [row], header=new)

    def rewind(self, steps: int) -> None:
        """Forget what was logged after `steps`: the run is about to log it again."""
        rewind(self.jsonl, steps)
        rows = read_rows(self.jsonl)
        if rows:
            with self.csv.open("w", newline="") as file:
                self._write_csv(file, rows, header=True)
        else:
            self.csv.unlink(missing_ok=True)

    @staticmethod
    def _write_csv(file: Any, rows: Iterable[Mapping[str, Any]], header: bool) -> None:
        rows = list(rows)
        writer = csv.writer(file, lineterminator="\n")
        if header:
            writer.writerow(rows[0])
        for row in rows:
            writer.writerow("" if v is None or v != v else v for v in row.values())


def rewind(path: Path, steps: int) -> None:
    """Keep the JSON lines of `path` whose `steps` are at most `steps`."""
    kept = [row for row in read_rows(path) if row["steps"] <= steps]
    if path.exists():
        path.write_text("".join(json.dumps(row) + "\n" for row in kept))
