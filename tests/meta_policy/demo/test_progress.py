from __future__ import annotations

import io
import os
import pty
import subprocess
import sys

import numpy as np
import pytest

from meta_policy.decision.baselines import Always
from meta_policy.demo.drawing import Agent, DrawnTable, Frame, PlainLines, display_for
from meta_policy.demo.progress import Pace, Tally
from meta_policy.evaluation.episodes import play
from meta_policy.loop import without_waiting
from tests.meta_policy.worlds import corridor_loop, virtual_guide

AGENT = Agent("agent 1", 1, 512.4, 200, 30, 0.0301, 2, {"rule": 0, "strong": 6}, 2.1, 3.9)


def test_a_tally_adds_up_what_every_agent_does():
    loop = corridor_loop(virtual_guide(2.0, lanes=2), lanes=2)
    tally = Tally(["one", "two"], ("half",), 8.0)
    episodes = without_waiting(play(loop, Always(loop.moves.ask("half", 5)), [1, 2], watch=tally))
    one, two = tally.agents()
    assert (one.name, two.name) == ("one", "two")
    assert (one.steps, one.guided, one.episodes) == (12, 12, 1)
    assert one.asks == {"half": 3}
    assert one.spend_usd == pytest.approx(episodes[0].price_usd)
    assert one.running_return == pytest.approx(episodes[0].total_return)
    assert (one.p50_ms, one.p95_ms) == (2.0, 2.0)


def test_plain_lines_say_for_each_agent_what_the_table_says():
    out = io.StringIO()
    PlainLines(out).show(Frame("head (4 of 4)", [AGENT], note="the broker is back"))
    assert out.getvalue() == (
        "head (4 of 4), agent 1: return 512, guided 15%, asks strong 6, spent 0.0301 USD, "
        "first guidance p50 / p95 2.1 / 3.9 ms, missed ticks 2 (the broker is back)\n"
    )


def test_what_is_no_terminal_gets_plain_lines():
    assert isinstance(display_for(io.StringIO()), PlainLines)


def test_a_picture_is_offered_no_oftener_than_the_display_likes():
    shown = []

    class Slow(PlainLines):
        def show(self, frame: Frame) -> None:
            shown.append(frame)

    tally = Tally(["one"], ("half",), 8.0)
    with Pace(Slow(io.StringIO())) as pace:
        for _ in range(100):
            pace.offer("never", tally)
    assert len(shown) == 1


def test_a_display_that_cannot_keep_up_costs_the_loop_nothing():
    table = DrawnTable.__new__(DrawnTable)
    table._drawer = subprocess.Popen(  # it never reads
        [sys.executable, "-c", "import time; time.sleep(60)"], stdin=subprocess.PIPE
    )
    assert table._drawer.stdin is not None
    table._pipe = table._drawer.stdin.fileno()
    os.set_blocking(table._pipe, False)
    for _ in range(2_000):  # more than a pipe holds
        table.show(Frame("head", [AGENT] * 4))
    table._drawer.kill()
    table.close()


def test_the_drawing_process_draws_on_a_terminal_until_its_input_ends():
    ours, terminal = pty.openpty()
    drawer = subprocess.Popen(
        [sys.executable, "-m", "meta_policy.demo.drawing"],
        stdin=subprocess.PIPE,
        stdout=terminal,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(terminal)
    table = DrawnTable.__new__(DrawnTable)
    table._drawer = drawer
    assert drawer.stdin is not None
    table._pipe = drawer.stdin.fileno()
    table.show(Frame("head (4 of 4)", [AGENT]))
    table.say("never: return 700")
    drawer.stdin.close()
    drawn = read_all(ours)
    assert drawer.wait(30) == 0
    for words in ("head (4 of 4)", "agent 1", "strong 6", "never: return 700"):
        assert words in drawn


def read_all(terminal: int) -> str:
    """What was written to a pseudo terminal until its other end closed."""
    parts = []
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux says so when the last writer has gone
            break
        if not part:
            break
        parts.append(part)
    os.close(terminal)
    return b"".join(parts).decode()


def test_a_tally_starts_a_new_return_with_a_new_episode():
    loop = corridor_loop(virtual_guide(2.0), length=4)
    tally = Tally(["one"], ("half",), 8.0)
    episodes = without_waiting(play(loop, Always(loop.moves.ask("half", 5)), [1, 2], watch=tally))
    (one,) = tally.agents()
    assert one.episodes == 2
    assert one.running_return == pytest.approx(episodes[1].total_return)
    assert np.isclose(one.steps, 8)
