"""What waits for a slow reader: updates give way, answers never do, and nothing grows without end."""

import asyncio

from broker.sessions.outbox import Outbox
from protos.guidance.v1 import guidance_pb2 as pb


def outbox(dropped: list[int] | None = None, max_updates: int = 4, max_bytes: int = 1_000_000) -> Outbox:
    return Outbox(max_updates, max_bytes, (dropped if dropped is not None else []).append)


def update(provider_id: str, in_flight: int) -> bytes:
    return pb.ProviderUpdate(provider_id=provider_id, in_flight=in_flight).SerializeToString()


def answer(ask_id: int) -> bytes:
    return pb.AnswerBatch(ask_id=[ask_id]).SerializeToString()


def taken(box: Outbox) -> pb.SessionResponse:
    return pb.SessionResponse.FromString(box.take())


def test_everything_that_waits_travels_in_one_message():
    box = outbox()
    box.answer(answer(1))
    box.failure(pb.Failure(ask_id=2).SerializeToString())
    box.update("strong", update("strong", 3))
    box.constraints(pb.Constraints(low=[-1.0], high=[1.0]).SerializeToString())
    box.stop(pb.OperatorPush(stop=True).SerializeToString())
    box.credits(300)
    box.answer(pb.AnswerBatch(ask_id=list(range(500))).SerializeToString())
    message = taken(box)
    assert [list(a.ask_id)[:1] for a in message.answers] == [[1], [0]]
    assert len(message.answers[1].ask_id) == 500
    assert message.failures[0].ask_id == 2
    assert message.provider_updates[0].in_flight == 3
    assert message.constraints[0].high == [1.0]
    assert message.pushes[0].stop
    assert message.credits_returned == 300
    assert box.take() == b""


def test_a_newer_update_of_the_same_source_replaces_the_older_one():
    box = outbox()
    for in_flight in range(100):
        box.update("strong", update("strong", in_flight))
    assert [u.in_flight for u in taken(box).provider_updates] == [99]


def test_the_oldest_updates_go_first_and_the_reader_is_told_of_the_gap():
    dropped: list[int] = []
    box = outbox(dropped)
    for number in range(6):
        box.update(f"source-{number}", update(f"source-{number}", number))
    message = taken(box)
    assert message.gap.dropped_updates == 2
    assert [u.in_flight for u in message.provider_updates] == [2, 3, 4, 5]
    assert sum(dropped) == 2
    assert not taken(box).HasField("gap")


def test_no_answer_is_dropped_however_long_nobody_reads():
    box = outbox()
    for ask_id in range(10_000):
        box.answer(answer(ask_id))
        box.update(f"source-{ask_id}", update("x", 0))
    message = taken(box)
    assert [a.ask_id[0] for a in message.answers] == list(range(10_000))
    assert len(message.provider_updates) == 4


def test_a_message_stays_below_its_limit_and_the_rest_follows():
    box = outbox(max_bytes=10_000)
    for ask_id in range(100):
        box.answer(pb.AnswerBatch(ask_id=[ask_id], provider_ids=["p" * 400]).SerializeToString())
    sizes, seen = [], []
    while data := box.take():
        sizes.append(len(data))
        seen += [a.ask_id[0] for a in pb.SessionResponse.FromString(data).answers]
    assert max(sizes) <= 10_000
    assert seen == list(range(100))


async def test_a_reader_that_lags_too_far_behind_is_waited_for():
    box = outbox()
    for ask_id in range(100):
        box.answer(answer(ask_id))
    waiting = asyncio.create_task(box.drained(below=50))
    await asyncio.sleep(0)
    assert not waiting.done()
    box.take()
    await asyncio.wait_for(waiting, 1.0)


async def test_a_closed_outbox_is_emptied_and_then_over():
    box = outbox()
    box.answer(answer(1))
    box.close()
    assert await box.ready()
    box.take()
    assert not await box.ready()


async def test_a_writer_that_waits_is_woken_by_whatever_comes():
    box = outbox()
    waiting = asyncio.create_task(box.ready())
    await asyncio.sleep(0)
    box.credits(1)
    assert await asyncio.wait_for(waiting, 1.0)
