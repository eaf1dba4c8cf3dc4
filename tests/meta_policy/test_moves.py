from __future__ import annotations

import numpy as np
import pytest

from meta_policy.moves import ALONE, DROP, MoveSet
from protos.types import ProviderState
from tests.meta_policy.worlds import READY, snapshot, view

MOVES = MoveSet(("cheap", "dear"), holds=(1, 5))


def legal(lane_view, **rules) -> list[str]:
    return [MOVES.name(i) for i in np.flatnonzero(MOVES.mask(lane_view, **rules)[0])]


def test_every_provider_and_hold_is_one_move_and_names_it():
    assert [MOVES.name(i) for i in range(len(MOVES))] == [
        "alone",
        "drop",
        "cheap:1",
        "cheap:5",
        "dear:1",
        "dear:5",
    ]
    assert MOVES.name(MOVES.ask("dear", 5)) == "dear:5"


def test_a_move_that_does_not_exist_is_refused_by_name():
    with pytest.raises(ValueError, match="dear:7"):
        MOVES.ask("dear", 7)


def test_a_free_lane_may_ask_anyone_and_has_nothing_to_drop():
    assert legal(view()) == ["alone", "cheap:1", "cheap:5", "dear:1", "dear:5"]


def test_a_provider_that_is_not_ready_is_not_asked():
    table = snapshot(state=np.array([int(ProviderState.OPEN), READY]))
    assert legal(view(providers=table)) == ["alone", "dear:1", "dear:5"]


def test_a_lease_that_would_overrun_the_budget_is_not_opened():
    assert legal(view(budget_left=np.array([2.5]))) == ["alone", "cheap:1", "cheap:5", "dear:1"]


def test_a_running_lease_can_only_be_dropped_and_only_at_a_review():
    running = {"lease_provider": np.array([0]), "lease_left": np.array([15])}
    assert legal(view(**running, lease_age=np.array([4])), review_every=5) == ["alone"]
    assert legal(view(**running, lease_age=np.array([5])), review_every=5) == ["alone", "drop"]
    assert legal(view(**running, lease_age=np.array([5])), review_every=0) == ["alone"]


def test_nothing_is_changed_within_the_dwell_after_a_switch():
    assert legal(view(since_switch=np.array([2])), dwell=3) == ["alone"]
    assert "dear:5" in legal(view(since_switch=np.array([3])), dwell=3)


def test_a_lane_without_an_episode_decides_nothing():
    assert legal(view(active=np.array([False]))) == ["alone"]


def test_alone_and_drop_ask_nobody():
    assert MOVES.provider[[ALONE, DROP]].tolist() == [-1, -1]
