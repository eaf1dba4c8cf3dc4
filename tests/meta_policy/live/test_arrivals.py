import numpy as np
import pytest

from meta_policy.live import arrivals
from meta_policy.live.arrivals import Arrivals
from protos.types import ActionAdvice, Answer, AnswerKind, NoneReason


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(arrivals.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def heard(clock: list[float]) -> Arrivals:
    heard = Arrivals(("strong",), lanes=2)
    heard.begin_step(np.array([7, 3]), began=100.0)
    return heard


def answer(lane: int, step: int, usd: float = 0.001, said: bool = True) -> Answer:
    return Answer(
        AnswerKind.FINAL if said else AnswerKind.NONE,
        ("strong",),
        [lane],
        [1],
        [1],
        [step],
        prices_usd=[usd],
        guidance=ActionAdvice(np.zeros((1, 3), np.float32)) if said else None,
        none_reason=None if said else NoneReason.NO_GUIDANCE,
    )


def test_latency_counts_from_the_start_of_the_step_it_answers(heard: Arrivals, clock: list[float]):
    clock[0] = 100.0025
    heard.take(answer(lane=1, step=3))
    assert heard.latency_ms[1] == pytest.approx(2.5)
    assert np.isnan(heard.latency_ms[0])


def test_a_late_answer_is_recorded_but_is_no_latency_of_the_present_step(heard: Arrivals, clock: list[float]):
    heard.begin_step(np.array([8, 4]), began=100.008)
    clock[0] = 100.010
    heard.take(answer(lane=1, step=3))
    assert heard.taken_ms["strong"] == [pytest.approx(10.0)]
    assert np.isnan(heard.latency_ms).all()


def test_an_answer_counts_once(heard: Arrivals):
    heard.take(answer(lane=0, step=7))
    heard.take(answer(lane=0, step=7))
    assert len(heard.taken_ms["strong"]) == 1


def test_every_charge_is_handed_on_once_to_its_lane(heard: Arrivals):
    heard.take(answer(lane=0, step=7))
    heard.take(answer(lane=0, step=6))
    assert heard.charged_usd().tolist() == [pytest.approx(0.002), 0.0]
    assert heard.charged_usd().tolist() == [0.0, 0.0]


def test_a_refusal_has_no_latency(heard: Arrivals):
    heard.take(answer(lane=0, step=7, usd=0.0, said=False))
    assert heard.taken_ms["strong"] == []
