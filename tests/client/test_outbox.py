"""What waits goes as one message, in an order that means the same."""

from __future__ import annotations

import numpy as np
import pytest

from agents.client.outbox import Outbox
from protos import codec
from protos.types import (
    AskOptions,
    Goal,
    LaneEvent,
    LaneEventKind,
    LeaseRows,
    Outcome,
    Query,
)

PLAIN = AskOptions(provider_id="a")


def query(lane: int, rows: int = 1, options: AskOptions = PLAIN, width: int = 2, first: int = 0) -> Query:
    ids = list(range(first + 1, first + rows + 1))
    observations = {"o": np.arange(first, first + rows, dtype=np.float64)[:, None].repeat(width, 1)}
    return Query(options, [lane] * rows, ids, [1] * rows, [0] * rows, observations)


def test_nothing_waiting_is_no_message() -> None:
    assert Outbox().take() is None


def test_asks_of_equal_options_are_one_batch_with_rows_in_order() -> None:
    box = Outbox()
    box.ask(query(0, first=0))
    box.ask(query(1, first=1, options=AskOptions(provider_id="a")))
    (batch,) = box.take().asks
    assert (list(batch.lane), list(batch.ask_id)) == ([0, 1], [1, 2])
    assert codec.decode_tensor(batch.observations["o"], "o")[:, 0].tolist() == [0.0, 1.0]
    assert box.take() is None


@pytest.mark.parametrize(
    "other",
    [
        query(1, options=AskOptions(provider_id="b")),
        query(1, options=AskOptions(provider_id="a", hold_steps=2)),
        query(1, options=AskOptions(provider_id="a", goal=Goal("g"))),
        query(1, width=3),
    ],
)
def test_asks_that_differ_are_batches_of_their_own_in_the_same_message(other: Query) -> None:
    box = Outbox()
    box.ask(query(0))
    box.ask(other)
    assert len(box.take().asks) == 2
    assert box.take() is None


def test_what_must_follow_a_later_part_of_the_same_lane_opens_the_next_message() -> None:
    box = Outbox()
    box.ask(query(0))
    box.end_episode(0, 1, 2, truncated=False)
    box.start_episode(0, 2, 2)
    box.ask(query(0, first=1))
    first, second = box.take(), box.take()
    assert (len(first.asks), len(first.episode_ends)) == (1, 0)
    assert (len(second.episode_ends), len(second.episode_starts), len(second.asks)) == (1, 1, 1)


def test_lanes_that_reset_together_share_a_message() -> None:
    box = Outbox()
    for lane in range(3):
        box.end_episode(lane, 1, 2, truncated=False)
        box.start_episode(lane, 2, 2)
    message = box.take()
    assert (len(message.episode_ends), len(message.episode_starts)) == (3, 3)
    assert box.take() is None


def test_two_resets_of_one_lane_are_two_messages() -> None:
    box = Outbox()
    box.start_episode(0, 1, 1)
    box.end_episode(0, 1, 2, truncated=False)
    box.start_episode(0, 2, 2)
    box.end_episode(0, 2, 3, truncated=False)
    ends = []
    while (message := box.take()) is not None:
        ends.append([end.episode for end in message.episode_ends])
    assert ends == [[], [1], [2]]


def test_a_cancel_does_not_overtake_the_ask_it_is_for() -> None:
    box = Outbox()
    box.ask(query(0))
    box.cancel(0, 1)
    assert not box.take().cancels
    assert box.take().cancels[0].ask_id == 1


def test_an_event_after_an_ask_keeps_its_place() -> None:
    box = Outbox()
    box.ask(query(0))
    box.lane_event(LaneEvent(0, LaneEventKind.FAULT, 2))
    assert not box.take().lane_events
    assert len(box.take().lane_events) == 1


def test_lease_rows_of_several_lanes_are_one_batch() -> None:
    box = Outbox()
    box.lease_rows(LeaseRows([0], [1], [5], {"o": np.zeros((1, 2))}))
    box.lease_rows(LeaseRows([1], [2], [5], {"o": np.ones((1, 2))}))
    (rows,) = box.take().lease_rows
    assert (list(rows.lane), list(rows.ask_id)) == ([0, 1], [1, 2])


def test_reports_keep_no_order_with_the_rest() -> None:
    box = Outbox()
    box.ask(query(0))
    box.outcome(Outcome(0, 1, used=True))
    assert len(box.take().outcomes) == 1


def test_no_message_has_more_rows_than_the_broker_takes() -> None:
    box = Outbox(max_rows=4)
    box.ask(query(0, rows=10))
    sizes = []
    while (message := box.take()) is not None:
        sizes.append([len(batch.ask_id) for batch in message.asks])
    assert sizes == [[4], [4], [2]]


def test_no_message_is_larger_than_the_broker_takes() -> None:
    box = Outbox(max_bytes=1_000)
    box.ask(query(0, rows=8, width=16))
    while (message := box.take()) is not None:
        assert message.ByteSize() <= 1_000


def test_a_row_that_no_message_can_hold_is_an_error_naming_the_limit() -> None:
    with pytest.raises(ValueError, match="a message may have 100"):
        Outbox(max_bytes=100).ask(query(0, width=64))
