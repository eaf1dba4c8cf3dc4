"""The hot path, as a ratio: the broker with everything switched on, beside a bare echo, in the same run.

Both servers get the same messages from the same driver, by turns, so that a machine whose speed drifts
treats them alike. Switched on: bearer-token auth, validation, metrics, a durable ledger.
"""

from __future__ import annotations

import asyncio
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from load_tests.broker_config import TASK, TOKEN, TOKEN_VARIABLE, write_broker_config
from load_tests.closed_loop import Run, drive_session, drive_unary
from load_tests.messages import Shape
from load_tests.server_process import free_port, running

ROW = Shape(TASK, rows=1)
ROWS_256 = Shape(TASK, rows=256)
Driver = Callable[[str, Shape, int, float, str, str], Awaitable[Run]]


@dataclass(frozen=True)
class Measure:
    """One line of the report."""

    name: str
    drive: Driver
    shape: Shape
    in_flight: int
    provider_id: str
    what: str


MEASURES = (
    Measure("session", drive_session, ROW, 64, "rule", "session, 64 asks of one row in flight, a free rule"),
    Measure("session_paid", drive_session, ROW, 64, "paid", "the same, each ask reserved and settled"),
    Measure("session_1", drive_session, ROW, 1, "rule", "session, one ask in flight"),
    Measure("unary", drive_unary, ROW, 64, "rule", "unary, 64 callers, a free rule"),
    Measure("unary_1", drive_unary, ROW, 1, "rule", "unary, one caller"),
    Measure("rows256", drive_session, ROWS_256, 4, "policy", "256 rows a message, a 64x64 torch policy"),
    Measure("rows256_rule", drive_session, ROWS_256, 4, "rule", "256 rows a message, a free rule"),
)


def bench(out: Path, seconds: float, repeats: int, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Measure, print a table, write ``out`` (JSON) and a Markdown table beside it. Returns the report."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        echo, broker = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        config = write_broker_config(work, broker, f"127.0.0.1:{free_port()}")
        serve = ["-m", "broker", "serve", str(config)]
        with (
            running(["-m", "load_tests.echo", echo, str(ROW.action)], echo, work / "echo.log", {}),
            running(serve, broker, work / "broker.log", {TOKEN_VARIABLE: TOKEN}),
        ):
            results = {m.name: _compare(m, echo, broker, seconds, repeats, say) for m in MEASURES}
    report = {**results, "about": _about(seconds, repeats)}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=2) + "\n")
    out.with_suffix(".md").write_text(_table(results))
    return report


def _compare(
    measure: Measure, echo: str, broker: str, seconds: float, repeats: int, say: Callable[[str], None]
) -> dict[str, Any]:
    pairs = []
    for repeat in range(repeats + 1):
        pair = [
            asyncio.run(
                measure.drive(address, measure.shape, measure.in_flight, seconds, TOKEN, measure.provider_id)
            )
            for address in (echo, broker)
        ]
        if repeat:  # the first pair warms both servers up
            pairs.append(pair)
    ratios = [broker_run.rows_per_s / echo_run.rows_per_s for echo_run, broker_run in pairs]
    row = {
        "what": measure.what,
        "ratio": statistics.median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "rows_per_s": statistics.median(run.rows_per_s for _, run in pairs),
        "echo_rows_per_s": statistics.median(run.rows_per_s for run, _ in pairs),
        "p50_us": statistics.median(run.quantile_us(0.5) for _, run in pairs),
        "p99_us": statistics.median(run.quantile_us(0.99) for _, run in pairs),
        "echo_p50_us": statistics.median(run.quantile_us(0.5) for run, _ in pairs),
        "echo_p99_us": statistics.median(run.quantile_us(0.99) for run, _ in pairs),
    }
    say(f"{measure.name:13s} ratio {row['ratio']:.2f}  {row['rows_per_s']:9.0f} rows/s  {measure.what}")
    return row


def _about(seconds: float, repeats: int) -> dict[str, Any]:
    packages = ("grpcio", "protobuf", "numpy", "torch", "uvloop")
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
        "seconds": seconds,
        "repeats": repeats,
        "command": f"guidance-load bench hot-path --out FILE --seconds {seconds:g} --repeats {repeats}",
    }


def _table(results: dict[str, dict[str, Any]]) -> str:
    lines = [
        "| | ratio to the echo (min..max) | rows/s | echo rows/s | p50 / p99 us | echo p50 / p99 us |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['what']} | {row['ratio']:.2f} ({row['ratio_min']:.2f}..{row['ratio_max']:.2f}) "
        f"| {row['rows_per_s']:,.0f} | {row['echo_rows_per_s']:,.0f} | {row['p50_us']:.0f} / "
        f"{row['p99_us']:.0f} | {row['echo_p50_us']:.0f} / {row['echo_p99_us']:.0f} |"
        for row in results.values()
    ]
    return "\n".join(lines) + "\n"
