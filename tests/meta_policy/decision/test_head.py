from __future__ import annotations

import numpy as np
import pytest

from agents.networks import MlpStack, StackShape
from meta_policy.decision.features import Features
from meta_policy.decision.head import Head, HeadDecider, HeadFileError, describe
from meta_policy.moves import MoveSet
from tests.meta_policy.worlds import executor, snapshot, view

FEATURES = Features(2, 1, ("cheap", "dear"), return_scale=2.0, rate=10.0, max_steps=100)
MOVES = MoveSet(("cheap", "dear"), holds=(1, 5))


def head(seed: int = 0) -> Head:
    shape = StackShape(1, (len(FEATURES), 8, len(MOVES)))
    weights = np.random.default_rng(seed).standard_normal(shape.parameters).astype(np.float32)
    mean, std = np.zeros(len(FEATURES)), np.ones(len(FEATURES))
    return Head(FEATURES, MOVES, MlpStack(shape, weights), mean, std, describe(FEATURES, MOVES, task="t"))


def test_features_have_a_name_each_and_are_finite_at_the_first_step():
    columns = FEATURES(view(lanes=3))
    assert columns.shape == (3, len(FEATURES.names))
    assert len(set(FEATURES.names)) == len(FEATURES.names)
    assert np.isfinite(columns).all()


def column(name: str, lane_view) -> float:
    return float(FEATURES(lane_view)[0, FEATURES.names.index(name)])


def test_a_leased_step_is_shown_at_what_it_costs_in_return():
    assert column("dear.step_cost", view(beta=np.array([3.0]))) == 60.0


def test_latency_is_shown_by_how_late_answers_are():
    slow = view(providers=snapshot(p50_ms=np.array([12.0, 1.0]), p95_ms=np.array([20.0, 2.0])))
    assert column("cheap.p50_late", slow) == pytest.approx(np.log1p(1.0))
    assert column("cheap.p95_late", slow) == pytest.approx(np.log1p(2.0))


def test_answers_that_are_all_in_time_look_the_same_however_early_they_come():
    early, just = (
        FEATURES(view(providers=snapshot(p50_ms=one * 0.5, p95_ms=one, p99_ms=one * 2)))
        for one in (np.array([0.1, 0.1]), np.array([2.0, 2.0]))
    )
    np.testing.assert_array_equal(early, just)


def test_the_ensembles_disagreement_is_shown():
    doubt = view(values=np.array([[1.0], [3.0], [5.0]]))
    assert column("value_spread", doubt) == pytest.approx(10 * np.std([1, 3, 5]) / 2)


def test_a_head_comes_back_from_its_file_with_the_same_logits(tmp_path):
    head().save(tmp_path / "h.safetensors")
    loaded = Head.load(tmp_path / "h.safetensors")
    seen = head().see(view(lanes=4))
    np.testing.assert_array_equal(loaded.logits(seen), head().logits(seen))
    assert (tmp_path / "h.safetensors").stat().st_size < 1_000_000


def test_a_policy_file_is_not_a_head(tmp_path):
    executor().save(tmp_path / "p.safetensors")
    with pytest.raises(HeadFileError, match="not a head"):
        Head.load(tmp_path / "p.safetensors")


def test_a_head_trained_on_other_features_is_refused(tmp_path):
    other = head()
    other.description["features"]["names"][0] = "something_else"
    other.save(tmp_path / "h.safetensors")
    with pytest.raises(HeadFileError, match="features"):
        Head.load(tmp_path / "h.safetensors")


def test_the_decider_never_picks_an_illegal_move():
    legal = np.zeros((50, len(MOVES)), np.bool_)
    legal[:, [0, 3]] = True
    rng = np.random.default_rng(0)
    many = view(lanes=50, seen=rng.standard_normal((50, 2)).astype(np.float32), beta=rng.random(50))
    for greedy in (True, False):
        moves = HeadDecider(head(), greedy).decide(many, legal)
        assert set(moves.tolist()) <= {0, 3}
