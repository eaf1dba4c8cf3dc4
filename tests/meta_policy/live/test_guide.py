"""The live guide against a session that follows a script: what is sent, what counts as in time, what it
costs."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agents.client import ProviderTable
from meta_policy.decision.baselines import Always
from meta_policy.evaluation.episodes import play
from meta_policy.guide import Request
from meta_policy.lanes import Lanes
from meta_policy.live.guide import LiveGuide
from meta_policy.loop import Loop, Rules
from meta_policy.moves import MoveSet
from protos.types import (
    ActionAdvice,
    Answer,
    AnswerKind,
    AskOptions,
    GuidanceKind,
    Outcome,
    Price,
    ProviderInfo,
    ProviderKind,
)
from tests.meta_policy.worlds import Corridor, executor

STRONG = ProviderInfo(
    "strong", ProviderKind.POLICY, frozenset({GuidanceKind.ACTION}), Price(usd_per_leased_step=0.001)
)


class ScriptedSession:
    """Answers 0.5 at once to the (lane, step) that `answers` allows; keeps what it was told."""

    def __init__(self, answers: Callable[[int, int], bool] = lambda lane, step: True) -> None:
        self.connected = True
        self.providers = ProviderTable()
        self.providers.replace_all([STRONG], generation=1)
        self.answers = answers
        self.asked: list[tuple[list[int], AskOptions]] = []
        self.observed: list[tuple[int, int]] = []
        self.cancelled: list[int] = []
        self.reports: list[Outcome] = []
        self.episodes: list[tuple[str, int]] = []
        self.ended_asks: set[int] = set()
        self.waits: list[float] = []
        self._leases: dict[int, int] = {}
        self._held: dict[tuple[int, int], Any] = {}
        self._listener: Callable[[Answer], None] = lambda answer: None

    def listen(self, listener: Callable[[Answer], None]) -> None:
        self._listener = listener

    def start_episode(self, lane: int, episode: int) -> None:
        self.episodes.append(("start", lane))

    def end_episode(self, lane: int, truncated: bool) -> None:
        self.episodes.append(("end", lane))

    def ask(self, lanes: list[int], steps: np.ndarray, observations: Any, options: AskOptions) -> list[int]:
        self.asked.append((list(lanes), options))
        ids = []
        for lane, step in zip(lanes, steps.tolist(), strict=True):
            self._leases[lane] = 100 + len(self.asked)
            ids.append(self._leases[lane])
            self._answer(lane, step)
        return ids

    def observe(self, lanes: np.ndarray, steps: np.ndarray, observations: Any) -> list[int]:
        sent = []
        for lane, step in zip(lanes.tolist(), steps.tolist(), strict=True):
            if self._leases.get(lane) not in self.ended_asks:
                self.observed.append((lane, step))
                self._answer(lane, step)
                sent.append(lane)
        return sent

    async def settled(self, lanes: list[int], steps: list[int], timeout_s: float) -> bool:
        self.waits.append(timeout_s)
        return all(key in self._held for key in zip(lanes, steps, strict=True))

    def advice(self, lane: int, step: int) -> Any:
        return self._held.get((lane, step))

    def outcome(self, ask_id: int) -> Any:
        return "ended" if ask_id in self.ended_asks else None

    def cancel(self, ask_id: int) -> None:
        self.cancelled.append(ask_id)

    def report(self, outcome: Outcome) -> None:
        self.reports.append(outcome)

    def constrain(self, lane: int, step: int, action: np.ndarray) -> tuple[np.ndarray, None]:
        return np.clip(action, -0.4, 0.4), None

    def late(self, lane: int, step: int) -> None:
        """What did not come in time comes now: charged, not held."""
        self._listener(_answer(lane, step))

    def _answer(self, lane: int, step: int) -> None:
        if self.answers(lane, step):
            self._held[lane, step] = SimpleNamespace(action=np.array([0.5]), provider_id="strong")
            self._listener(_answer(lane, step))


def _answer(lane: int, step: int) -> Answer:
    advice = ActionAdvice(np.array([[0.5]], np.float32))
    row = ([lane], [1], [1], [step])
    return Answer(AnswerKind.FINAL, ("strong",), *row, prices_usd=[0.001], guidance=advice)


def request(step: int, opens: bool = False, hold: int = 5, serves: bool = True) -> Request:
    return Request(
        active=np.array([True]),
        step=np.array([step]),
        observation=np.zeros((1, 2)),
        opens=np.array([0 if opens else -1]),
        hold=np.array([hold]),
        serves=np.array([0 if serves else -1]),
        cancels=np.array([False]),
    )


async def started(session: ScriptedSession, regime: Any = "realtime") -> LiveGuide:
    guide = LiveGuide(session, ("strong",), 1, 1, period_ms=8.0, regime=regime)  # type: ignore[arg-type]
    await guide.begin(np.array([0]), np.array([1]))
    await guide.tick()
    return guide


async def test_an_answer_in_time_is_acted_on_and_charged():
    guide = await started(ScriptedSession())
    exchange = await guide.exchange(request(0, opens=True))
    assert exchange.guided.tolist() == [True]
    assert exchange.action.tolist() == [[0.5]]
    assert exchange.price_usd.tolist() == [0.001]
    assert 0 <= exchange.latency_ms[0] < 1000


async def test_a_lease_is_one_ask_and_then_the_observations_of_its_other_steps():
    session = ScriptedSession()
    guide = await started(session)
    await guide.exchange(request(0, opens=True, hold=3))
    await guide.exchange(request(1))
    await guide.exchange(request(2))
    (lanes, options), *more = session.asked
    assert more == []
    assert (lanes, options.provider_id, options.hold_steps) == ([0], "strong", 3)
    assert session.observed == [(0, 1), (0, 2)]


async def test_what_is_certain_is_sent_before_anything_is_decided():
    session = ScriptedSession()
    guide = await started(session)
    await guide.exchange(request(0, opens=True))
    await guide.tick()
    await guide.ahead(np.array([0]), np.array([1]), np.zeros((1, 2)))
    assert session.observed == [(0, 1)]
    exchange = await guide.exchange(request(1))
    assert session.observed == [(0, 1)]  # once
    assert exchange.guided.tolist() == [True]


async def test_what_has_not_come_by_half_a_period_is_not_waited_for():
    guide = await started(ScriptedSession(answers=lambda lane, step: False))
    exchange = await guide.exchange(request(0, opens=True))
    assert exchange.guided.tolist() == [False]
    assert exchange.price_usd.tolist() == [0.0]
    assert np.isnan(exchange.latency_ms[0])


async def test_a_late_answer_is_charged_in_the_step_it_comes_in():
    session = ScriptedSession(answers=lambda lane, step: step != 0)
    guide = await started(session)
    await guide.exchange(request(0, opens=True))
    session.late(0, 0)
    exchange = await guide.exchange(request(1))
    assert exchange.guided.tolist() == [True]
    assert exchange.price_usd.tolist() == [0.002]


async def test_a_lease_that_the_broker_ended_is_broken():
    session = ScriptedSession()
    guide = await started(session)
    await guide.exchange(request(0, opens=True))
    session.ended_asks.add(101)
    exchange = await guide.exchange(request(1))
    assert exchange.broken.tolist() == [True]
    assert exchange.guided.tolist() == [False]


async def test_with_the_broker_gone_nobody_is_ready():
    session = ScriptedSession()
    guide = await started(session)
    assert guide.providers.ready.tolist() == [True]
    session.connected = False
    await guide.tick()
    assert guide.providers.ready.tolist() == [False]


async def test_blocking_waits_for_the_answer_and_says_for_how_long():
    session = ScriptedSession()
    guide = await started(session, "blocking")
    exchange = await guide.exchange(request(0, opens=True))
    assert session.waits == [5.0]
    assert exchange.wait_ms[0] == exchange.latency_ms[0] > 0


async def test_a_dropped_lease_is_cancelled_at_the_broker():
    session = ScriptedSession()
    guide = await started(session)
    await guide.exchange(request(0, opens=True))
    dropping = request(1, serves=False)
    dropping.cancels[0] = True
    await guide.exchange(dropping)
    assert session.cancelled == [101]


async def test_every_executed_action_passes_the_constraints():
    guide = await started(ScriptedSession())
    await guide.exchange(request(0, serves=False))
    assert guide.constrain(np.array([[1.0]], np.float32)) == pytest.approx(0.4)


async def test_a_whole_episode_reports_each_lease_once():
    session = ScriptedSession()
    guide = LiveGuide(session, ("strong",), 1, 1, period_ms=2.0)  # type: ignore[arg-type]
    moves = MoveSet(("strong",), holds=(5,))
    loop = Loop(Lanes(lambda: Corridor(12), 1), executor(), guide, moves, Rules(2.0))
    (episode,) = await play(loop, Always(moves.ask("strong", 5)), [1])
    assert (episode.steps, episode.guided, episode.asked) == (12, 12, 3)
    assert [report.rows_used for report in session.reports] == [5, 5, 2]
    assert [report.episode_ended for report in session.reports] == [False, False, True]
    assert session.reports[0].reward_sum == pytest.approx(5 * 0.4)  # 0.5 asked for, 0.4 allowed
    assert session.episodes == [("start", 0), ("end", 0)]
    assert episode.price_usd == pytest.approx(0.012)
