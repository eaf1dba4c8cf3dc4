from __future__ import annotations

import numpy as np
import pytest

from meta_policy.decision.baselines import Always, Never, Periodic
from meta_policy.environment import Given
from meta_policy.evaluation.episodes import play
from meta_policy.loop import without_waiting
from meta_policy.moves import DROP
from tests.meta_policy.worlds import corridor_loop, virtual_guide


def played(decider, seeds=(1,), lanes: int = 1, latency_ms: float = 1.0, **rules):
    loop = corridor_loop(virtual_guide(latency_ms, lanes), lanes, **rules)
    return without_waiting(play(loop, decider, seeds))


def test_never_asking_is_the_executor_alone():
    loop = corridor_loop(virtual_guide())
    (episode,) = without_waiting(play(loop, Never(), [3]))
    observations = np.array([[step, 3.0] for step in range(12)])
    assert episode.total_return == pytest.approx(float(loop.own.predict(observations)[0].sum()), abs=1e-5)
    assert (episode.guided, episode.asked, episode.price_usd) == (0, 0, 0.0)


def test_a_lease_of_five_guides_and_charges_five_steps_for_one_ask():
    (episode,) = played(Periodic(move=3, every=100))
    assert (episode.asked, episode.guided, episode.paid, episode.price_usd) == (1, 5, 5, 10.0)


def test_always_asks_again_when_the_hold_ends():
    (episode,) = played(Always(move=3))
    assert (episode.asked, episode.guided) == (3, 12)
    assert episode.total_return == pytest.approx(6.0)


def test_entering_and_leaving_guidance_are_two_switches():
    (episode,) = played(Periodic(move=3, every=100))
    assert episode.switches == 2


def test_a_late_answer_leaves_the_executor_in_charge():
    (episode,) = played(Always(move=2), latency_ms=5.0)
    assert (episode.guided, episode.paid) == (0, 12)


def test_results_do_not_depend_on_how_many_lanes_share_the_work():
    one = played(Always(move=3), seeds=(1, 2, 3, 4, 5), lanes=1)
    three = played(Always(move=3), seeds=(1, 2, 3, 4, 5), lanes=3)
    assert [(e.seed, e.total_return) for e in one] == [(e.seed, e.total_return) for e in three]


def test_a_dropped_lease_is_charged_no_further():
    loop = corridor_loop(virtual_guide(), review_every=2)
    without_waiting(loop.begin(np.array([0]), np.array([1]), np.array([0.0])))
    moves = [3, 0, DROP, 0, 0]
    records = [without_waiting(loop.step(Given(move))) for move in moves]
    assert [float(r.exchange.price_usd[0]) for r in records] == [2.0, 2.0, 0.0, 0.0, 0.0]
    assert records[2].request.cancels[0]


def test_an_illegal_move_is_refused_by_name():
    loop = corridor_loop(virtual_guide())
    without_waiting(loop.begin(np.array([0]), np.array([1]), np.array([0.0])))
    with pytest.raises(ValueError, match="lane 0: move drop"):
        without_waiting(loop.step(Given(DROP)))


def test_asking_stops_when_the_budget_of_the_episode_is_spent():
    (episode,) = played(Always(move=2), budget_usd=6.0)
    assert (episode.asked, episode.price_usd) == (3, 6.0)
