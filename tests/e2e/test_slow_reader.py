"""A client that asks and never reads: it is held up itself, and nobody else."""

import asyncio

import grpc
import pytest

from protos.guidance.v1.guidance_pb2_grpc import GuidanceServiceStub
from tests.broker.house import FREE_SOURCE, ROUTE, batch
from tests.broker.metrics.test_counts import scraped
from tests.e2e.wire import ENVIRON, TWO_TOKENS, Stream, Wire, a_hello, bearer, eventually, wire

MESSAGES, ROWS = 150, 256
MOST_BYTES = 131_072
SMALL_WINDOW = [("grpc.http2.bdp_probe", 0), ("grpc.use_local_subchannel_pool", 1)]


@pytest.fixture(autouse=True)
def low_limit(monkeypatch):
    monkeypatch.setattr("broker.wire.session_stream.MAX_WAITING_BYTES", MOST_BYTES)


async def a_slow_reader(channel: grpc.aio.Channel, token: str = "") -> Stream:
    stream = Stream(GuidanceServiceStub(channel).Session(metadata=bearer(token), timeout=120))
    await stream.send(hello=a_hello("slow"))
    return stream


async def ask_without_reading(stream: Stream) -> None:
    for message in range(MESSAGES):
        first = 1 + message * ROWS
        await stream.send(asks=[batch(*range(first, first + ROWS))])


async def lagging(link: Wire) -> None:
    """Until much waits for the slow reader, and neither less nor more for a while."""
    looks = 0
    async with asyncio.timeout(60):
        while looks < 60:
            before = waiting(link)
            await asyncio.sleep(0.005)
            looks = looks + 1 if before == waiting(link) > MOST_BYTES // 2 else 0


def waiting(link: Wire) -> int:
    return sum(o.session.outbox.bytes_waiting for o in link.broker.sessions if o.hello.agent == "slow")


def received(link: Wire) -> float:
    """Rows that the broker has read from anyone."""
    samples = scraped(link.broker.metrics.exposition())
    return sum(value for key, value in samples.items() if key[0] == "guidance_asks_received_total")


def slow_channel(link: Wire) -> grpc.aio.Channel:
    return grpc.aio.insecure_channel(link.target, options=SMALL_WINDOW)


async def test_what_waits_for_it_is_bounded_others_are_served_and_it_misses_nothing(tmp_path):
    async with wire(tmp_path) as link, slow_channel(link) as channel:
        slow, other = await a_slow_reader(channel), await link.session("other")
        asking = asyncio.create_task(ask_without_reading(slow))
        await lagging(link)
        for ask_id in range(1, 21):
            await other.send(asks=[batch(ask_id)])
            assert list((await other.answer()).ask_id) == [ask_id]
        assert received(link) < MESSAGES * ROWS  # nothing more is read from it
        assert waiting(link) < 2 * MOST_BYTES
        ended: list[int] = []
        while len(ended) < MESSAGES * ROWS:
            message = await slow.until(lambda message: message.answers or message.failures)
            ended += [ask_id for answer in message.answers for ask_id in answer.ask_id]
            assert {failure.reason for failure in message.failures} <= {"NO_CREDIT"}
            ended += [failure.ask_id for failure in message.failures]
        assert sorted(ended) == list(range(1, MESSAGES * ROWS + 1))
        await asking
        await slow.call.done_writing()
        assert (await slow.end())[0] is grpc.StatusCode.OK
        assert sum(message.credits_returned for message in slow.heard) == MESSAGES * ROWS


async def test_one_whose_token_is_revoked_is_gone_though_it_never_reads(tmp_path):
    text = ROUTE + FREE_SOURCE + TWO_TOKENS
    async with wire(tmp_path, text, ENVIRON) as link, slow_channel(link) as channel:
        slow = await a_slow_reader(channel, "agents-secret")
        asking = asyncio.create_task(ask_without_reading(slow))
        await lagging(link)
        link.rewrite(text.replace('roles = ["agent"]', 'roles = ["metrics"]'))
        (opened,) = link.broker.sessions
        outbox = opened.session.outbox
        await link.broker.reloader.reload()
        assert len(link.broker.sessions) == 0
        await eventually(lambda: not outbox.bytes_waiting, within_s=5)
        assert link.broker.admission.in_flight == 0
        assert (await slow.end())[0] is grpc.StatusCode.UNAUTHENTICATED  # it reads at last
        asking.cancel()
