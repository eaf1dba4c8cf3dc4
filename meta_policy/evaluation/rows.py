"""One result row an episode: the schema of `frontier.json`."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.files import write_atomically


@dataclass(frozen=True, slots=True)
class Row:
    """One episode of one method. Shares are of its steps; times are None where nothing was asked."""

    task: str
    mix: str
    clock: str  # "live": a broker over gRPC at the task's control rate; "virtual": replayed latencies
    regime: str  # "realtime": the environment never waits; "blocking": it waits for answers
    delay_steps: int  # control steps by which every answer was held back on top of the mix's own latency
    degradation: str
    method: str
    point: str  # operating point of the method: its beta, share or threshold; empty where there is only one
    executor_seed: int
    head_seed: int  # -1 where no head decides
    episode_seed: int
    episode_return: float  # raw return of the environment; "return" in the file
    guided_share: float
    asked_share: float
    paid_share: float
    price_usd: float
    wait_ms: float  # the environment waited so long in all; 0 in realtime
    latency_cost: float  # tau x waited seconds, in return
    switches_per_100: float  # steps on which the origin of the executed action changed, a hundred steps
    p50_first_ms: float | None  # from the start of the asking step to its first usable guidance
    p95_first_ms: float | None
    missed_ticks: int
    period_ms: float  # of one control step

    def to_json(self) -> dict[str, Any]:
        """The row under the names of the file; what is not finite is null."""
        named = {_name(field): getattr(self, field) for field in FIELDS}
        return {name: None if _missing(value) else value for name, value in named.items()}

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> Row:
        """KeyError names a column that is not there; other columns are left out."""
        return Row(**{field: row[_name(field)] for field in FIELDS})


FIELDS = tuple(field.name for field in dataclasses.fields(Row))
COLUMNS = tuple("return" if field == "episode_return" else field for field in FIELDS)


def _name(field: str) -> str:
    return "return" if field == "episode_return" else field


def _missing(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """A JSON array, one row a line, so that a diff shows which episodes changed."""
    lines = ",\n".join(json.dumps(row.to_json(), allow_nan=False) for row in rows)
    write_atomically(path, f"[\n{lines}\n]\n".encode())


def read_rows(path: Path) -> list[Row]:
    return [Row.from_json(row) for row in json.loads(path.read_text())]
