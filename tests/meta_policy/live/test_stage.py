"""The whole live loop with a real broker and one priced rule, and the demo's story with that broker
killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agents.policy_file import Policy
from meta_policy import places
from meta_policy.demo import demo
from meta_policy.demo.demo import Shown, Wanted
from meta_policy.demo.drawing import Frame
from meta_policy.demo.progress import Pace
from meta_policy.demo.result import finish, result_of
from meta_policy.evaluation import arms
from meta_policy.live.stage import Setting, Stage, stage
from meta_policy.loop import StepRecord
from meta_policy.presets import Source, preset_of
from meta_policy.virtual.stage import VirtualStage
from tests.meta_policy.worlds import executor

USD = 0.001
PRESET = replace(preset_of("PerturbedHopper"), sources=(Source("rule", None, USD, 0.0, 0.0),))
SEEDS = [1, 2, 3]


@pytest.fixture(autouse=True)
def small_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy of a few random weights in place of the trained one: it falls within some steps."""
    own = executor(observations=11, actions=3)
    monkeypatch.setattr(places, "executor", lambda preset, seed, strength: Path("none"))
    monkeypatch.setattr(Policy, "load", staticmethod(lambda path: own))


class Quiet:
    """A display that keeps what it is told."""

    every_s = 0.0

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.frames: list[Frame] = []

    def show(self, frame: Frame) -> None:
        self.frames.append(frame)

    def say(self, line: str) -> None:
        self.lines.append(line)

    def close(self) -> None:
        pass


def charged_by_the_ledger(folder: Path) -> float:
    """What the stopped broker's ledger says, in USD."""
    command = [sys.executable, "-m", "broker", "ledger", "--config", str(folder / "broker.toml")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"charged in all: (\S+) USD", told)
    assert found, told
    return float(found.group(1))


async def test_live_equals_virtual_where_nothing_depends_on_time(tmp_path: Path):
    """Blocking, so that no answer is late: the same returns to the last bit, the same spend, and the
    ledger's."""
    setting = Setting(PRESET, executor_seed=1, lanes=2, regime="blocking")
    arm = arms.always(PRESET)[0]
    virtual = VirtualStage(setting).play_now(arm, SEEDS)
    async with stage(setting, tmp_path) as live:
        played = await live.play(arm, SEEDS)
        told = live.session.counts.total_charged_usd
    assert [e.total_return for e in played] == [e.total_return for e in virtual]
    assert [e.guided for e in played] == [e.steps for e in played]
    assert [e.price_usd for e in played] == pytest.approx([e.price_usd for e in virtual])
    assert told == pytest.approx(sum(e.price_usd for e in played))
    assert charged_by_the_ledger(tmp_path) == pytest.approx(told)


async def test_agents_go_on_alone_when_the_broker_is_killed_and_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(demo, "stage", lambda setting: stage(setting, tmp_path))
    arm = arms.always(PRESET)[0]
    what = Endless(PRESET, 1, Path("none"), (arm,), lanes=2)
    shown, display = Shown(), Quiet()
    drill = Drill(monkeypatch)
    with pytest.raises(Enough), Pace(display) as pace:
        await demo.show(what, shown, pace)
    assert drill.alone > 0  # with the broker gone, steps were taken all the same
    assert shown.starts == 2
    assert "started again" in shown.notes[0]
    assert "the broker is back" in display.lines
    assert drill.largest_action <= 1.0  # under the last constraints throughout
    told = drill.stage.session.counts
    assert told.connections == 2
    # Every charge that agents saw is in the ledger once; beyond it only leases in flight when a session ended
    in_flight = 2 * 2 * arms.HOLD * USD  # two lanes, twice
    assert told.total_charged_usd <= charged_by_the_ledger(tmp_path) + 1e-9
    assert charged_by_the_ledger(tmp_path) <= told.total_charged_usd + in_flight + 1e-9
    result = result_of(what, shown)
    assert not result["complete"]
    assert result["broker"]["starts"] == 2


class Enough(Exception):
    pass


class Endless(Wanted):
    """So many short episodes that a busy machine has its broker back before the last one is over."""

    @property
    def seeds(self) -> list[int]:
        return list(range(1, 20_000))


class Drill:
    """Kills the broker after the 20th guided step, and ends the run 20 guided steps after it came back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.guided, self.alone, self.largest_action = 0, 0, 0.0
        self.killed = False
        self.stage: Stage
        play = Stage.play

        async def watched(stage: Stage, arm, seeds, watch, ended):
            self.stage = stage
            step = stage.lanes.step

            def measured(action: np.ndarray):
                self.largest_action = max(self.largest_action, float(np.abs(action).max()))
                return step(action)

            stage.lanes.step = measured  # type: ignore[method-assign]
            return await play(stage, arm, seeds, lambda record: (watch(record), self(record)), ended)

        monkeypatch.setattr(Stage, "play", watched)

    def __call__(self, record: StepRecord) -> None:
        guided = int((record.origin >= 0).sum())
        self.guided += guided
        if not self.killed and self.guided >= 20:
            self.stage.broker.kill()
            self.killed, self.guided = True, 0
        elif self.killed and self.stage.session.counts.connections == 1:
            self.alone += int(record.active.sum()) - guided
            self.guided = 0
        elif self.killed and self.guided >= 20:
            raise Enough


INTERRUPTED = """
import sys
from dataclasses import replace
from pathlib import Path
from agents.policy_file import Policy
from meta_policy import places
from meta_policy.demo import demo
from meta_policy.evaluation import arms
from tests.meta_policy.live.test_stage import PRESET
from tests.meta_policy.worlds import executor

own = executor(observations=11, actions=3)
places.executor = lambda preset, seed, strength: Path("none")
Policy.load = staticmethod(lambda path: own)
def wanted(preset, seed, episodes, period_scale):
    return demo.Wanted(PRESET, seed, Path("none"), (arms.never(), arms.always(PRESET)[0]), episodes=500)
demo.wanted = wanted
from meta_policy.__main__ import main
sys.exit(main(["demo", "--out", sys.argv[1]]))
"""


def test_ctrl_c_ends_the_demo_with_130_a_partial_report_and_no_process(tmp_path: Path):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    ours = os.environ | {"TMPDIR": str(tmp_path)}  # its broker's configuration is found there, and no other's
    shown = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True, env=ours)
    assert shown.stdout is not None
    lines = []
    for line in shown.stdout:
        lines.append(line)
        if "agent 1" in line:  # agents are playing
            break
    assert len(brokers_with(str(tmp_path))) == 1
    os.kill(shown.pid, signal.SIGINT)
    rest = shown.stdout.read()
    shown.stdout.close()
    assert shown.wait(30) == 130, rest
    assert "(partial)" in rest
    assert "Partial." in (tmp_path / "report.html").read_text()
    assert '"complete": false' in (tmp_path / "result.json").read_text()
    assert re.search(r"metrics were at http://127.0.0.1:\d+/metrics", rest)
    assert not brokers_with(str(tmp_path))


def brokers_with(*words: str) -> list[str]:
    """Command lines of running brokers that hold a word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if "broker serve" in line and any(word in line for word in words):
            found.append(line)
    return found


async def test_a_whole_demo_writes_the_numbers_it_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    what = Wanted(PRESET, 1, Path("none"), (arms.never(), arms.always(PRESET)[0]), episodes=3, lanes=2)
    shown, display = Shown(), Quiet()
    with Pace(display) as pace:
        await demo.show(what, shown, pace)
    finish(what, shown, tmp_path)
    result = result_of(what, shown)
    assert result["complete"]
    assert [told["method"] for told in result["methods"]] == ["never", "always_rule"]
    assert [len(told["returns"]) for told in result["methods"]] == [3, 3]
    printed = capsys.readouterr().out
    for told in result["methods"]:
        assert f"{told['mean_return']:.0f}" in printed
        assert f"{told['mean_return']:.0f}" in (tmp_path / "report.html").read_text()
    assert result["providers"][0]["asks"] > 0
    assert display.frames[0].agents[1].name == "agent 2"
