"""Showing how agents fare, without holding them up.

Drawing a table takes longer than a control period, so on a terminal a process of its own draws: it is handed
a line of JSON a few times a second, and a line is dropped rather than waited for. Elsewhere plain lines do.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, TextIO

DRAW_EVERY_S = 0.25
SAY_EVERY_S = 5.0
PIPE_BUF = 4096  # a longer line could be written in part


@dataclass(slots=True)
class Agent:
    """One lane's figures since the method began; `running_return` is that of the episode under way."""

    name: str
    episodes: int = 0
    running_return: float = 0.0
    steps: int = 0
    guided: int = 0
    spend_usd: float = 0.0
    missed_ticks: int = 0
    asks: dict[str, int] = field(default_factory=dict)
    p50_ms: float | None = None
    p95_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture: what is being played and how each agent fares."""

    title: str
    agents: list[Agent]
    note: str = ""


class Display(Protocol):
    every_s: float

    def show(self, frame: Frame) -> None: ...

    def say(self, line: str) -> None: ...

    def close(self) -> None: ...


class PlainLines:
    """A line an agent every few seconds, for logs and pipes."""

    every_s = SAY_EVERY_S

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, frame: Frame) -> None:
        note = f" ({frame.note})" if frame.note else ""
        for agent in frame.agents:
            print(f"{frame.title}, {_in_words(agent)}{note}", file=self._out)
        self._out.flush()

    def say(self, line: str) -> None:
        print(line, file=self._out, flush=True)

    def close(self) -> None:
        pass


class DrawnTable:
    """A process that draws what it is sent, until its input ends. It never holds the sender up."""

    every_s = DRAW_EVERY_S

    def __init__(self) -> None:
        self._drawer = subprocess.Popen(
            [sys.executable, "-m", "meta_policy.demo.drawing"], stdin=subprocess.PIPE
        )
        assert self._drawer.stdin is not None
        self._pipe = self._drawer.stdin.fileno()
        os.set_blocking(self._pipe, False)

    def show(self, frame: Frame) -> None:
        self._send({"frame": asdict(frame)})

    def say(self, line: str) -> None:
        self._send({"line": line})

    def _send(self, told: dict[str, Any]) -> None:
        line = json.dumps(told).encode() + b"\n"
        if len(line) > PIPE_BUF:
            return
        try:
            os.write(self._pipe, line)
        except (BlockingIOError, BrokenPipeError):
            return

    def close(self) -> None:
        assert self._drawer.stdin is not None
        self._drawer.stdin.close()
        try:
            self._drawer.wait(2.0)
        except subprocess.TimeoutExpired:
            self._drawer.kill()
            self._drawer.wait()


def _in_words(agent: Agent) -> str:
    first = "-" if agent.p50_ms is None else f"{agent.p50_ms:.1f} / {agent.p95_ms:.1f} ms"
    return (
        f"{agent.name}: return {agent.running_return:.0f}, guided {_share(agent)}, asks {_asks(agent)}, "
        f"spent {agent.spend_usd:.4f} USD, first guidance p50 / p95 {first}, "
        f"missed ticks {agent.missed_ticks}"
    )


def _asks(agent: Agent) -> str:
    return "  ".join(f"{name} {count}" for name, count in agent.asks.items() if count) or "-"


def display_for(out: TextIO) -> Display:
    """A drawn table on a terminal, plain lines elsewhere."""
    return DrawnTable() if out.isatty() else PlainLines(out)


def _share(agent: Agent) -> str:
    return f"{agent.guided / agent.steps:.0%}" if agent.steps else "-"


def draw_forever(lines: TextIO) -> None:
    """The drawing process: a table in place, redrawn for every line."""
    from rich.live import Live

    with Live(auto_refresh=False, transient=True) as live:
        for line in lines:
            told = json.loads(line)
            if "line" in told:
                live.console.print(told["line"], highlight=False)
            else:
                live.update(_table(told["frame"]), refresh=True)


def _table(frame: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(title=frame["title"], caption=frame["note"] or None, expand=False)
    for column in (
        "agent",
        "episode",
        "return",
        "guided",
        "asks",
        "spent, USD",
        "first guidance, ms",
        "missed",
    ):
        table.add_column(column, justify="left" if column in ("agent", "asks") else "right")
    for told in frame["agents"]:
        agent = Agent(**told)
        first = "-" if agent.p50_ms is None else f"p50 {agent.p50_ms:.1f}  p95 {agent.p95_ms:.1f}"
        table.add_row(
            agent.name,
            str(agent.episodes + 1),
            f"{agent.running_return:.0f}",
            _share(agent),
            _asks(agent),
            f"{agent.spend_usd:.4f}",
            first,
            str(agent.missed_ticks),
        )
    return table


def _main() -> None:
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for the agents; this one ends when its input does
    draw_forever(sys.stdin)


if __name__ == "__main__":
    _main()
