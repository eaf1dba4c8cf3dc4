"""Sessions over the wire: welcome, answers, refusals with their reasons, and what ends a stream."""

import asyncio

import grpc
import pytest

from broker.testing import Scripted
from protos.guidance.v1 import admin_pb2
from protos.guidance.v1 import guidance_pb2 as pb
from protos.guidance.v1.admin_pb2_grpc import AdminServiceStub
from tests.broker.house import FREE_SOURCE, ROUTE, batch
from tests.e2e.wire import ENVIRON, TWO_TOKENS, Stream, a_hello, bearer, eventually, reason_in, wire


async def test_a_session_is_welcomed_and_its_asks_are_answered(tmp_path):
    async with wire(tmp_path) as link:
        stream = await link.session()
        welcome = (await stream.until(lambda message: message.HasField("welcome"))).welcome
        assert [info.provider_id for info in welcome.providers] == ["source"]
        assert welcome.credits == 256
        assert welcome.limits.max_rows == 1024
        await stream.send(asks=[batch(1)])
        assert list((await stream.answer()).ask_id) == [1]
        updates = [u.provider_id for message in stream.heard for u in message.provider_updates]
        assert "source" in updates


async def test_asks_may_come_with_the_hello(tmp_path):
    async with wire(tmp_path) as link:
        call = link.stub.Session(timeout=60)
        await call.write(pb.SessionRequest(hello=a_hello(), asks=[batch(1)]))
        seen = []
        while not seen:
            seen += [list(answer.ask_id) for answer in (await call.read()).answers]
        assert seen == [[1]]


@pytest.mark.parametrize(
    ("first", "code", "reason"),
    [
        ({"asks": [batch(1)]}, grpc.StatusCode.INVALID_ARGUMENT, "NO_HELLO"),
        ({"hello": a_hello(version=99)}, grpc.StatusCode.UNIMPLEMENTED, "UNKNOWN_PROTOCOL_VERSION"),
        ({"hello": a_hello(task="elsewhere")}, grpc.StatusCode.INVALID_ARGUMENT, "UNKNOWN_TASK"),
        ({"hello": a_hello(lanes=300)}, grpc.StatusCode.INVALID_ARGUMENT, "TOO_MANY_LANES"),
        ({"hello": a_hello(agent="")}, grpc.StatusCode.INVALID_ARGUMENT, "MISSING_FIELD"),
    ],
)
async def test_a_first_message_that_will_not_do_ends_the_stream_with_its_reason(
    tmp_path, first, code, reason
):
    async with wire(tmp_path) as link:
        stream = Stream(link.stub.Session(timeout=60))
        await stream.send(**first)
        assert await stream.end() == (code, reason)


async def test_a_hello_that_never_comes_is_not_waited_for_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("broker.wire.session_stream.HELLO_TIMEOUT_S", 0.05)
    async with wire(tmp_path) as link:
        stream = Stream(link.stub.Session(timeout=60))
        assert await stream.end() == (grpc.StatusCode.DEADLINE_EXCEEDED, "NO_HELLO")


async def test_a_second_hello_is_a_breach_of_the_protocol(tmp_path):
    async with wire(tmp_path) as link:
        stream = await link.session()
        await stream.send(hello=a_hello())
        assert await stream.end() == (grpc.StatusCode.INVALID_ARGUMENT, "SECOND_HELLO")


async def test_coming_back_ends_the_session_before(tmp_path):
    async with wire(tmp_path) as link:
        before = await link.session("agent")
        await before.until(lambda message: message.HasField("welcome"))
        after = await link.session("agent")
        welcome = (await after.until(lambda message: message.HasField("welcome"))).welcome
        assert await before.end() == (grpc.StatusCode.UNAVAILABLE, "SUPERSEDED")
        assert welcome.session_generation > before.heard[0].welcome.session_generation


async def test_a_client_that_has_said_all_still_hears_its_answers_and_a_clean_end(tmp_path):
    async with wire(tmp_path) as link:
        link.source().then(Scripted(latency_s=0.05))
        stream = await link.session()
        await stream.send(asks=[batch(1)])
        await stream.call.done_writing()
        assert list((await stream.answer()).ask_id) == [1]
        assert await stream.end() == (grpc.StatusCode.OK, "")


async def test_a_client_that_hangs_up_leaves_no_session_and_no_call_behind(tmp_path):
    async with wire(tmp_path) as link:
        link.source().then(Scripted(never=True))
        stream = await link.session()
        await stream.send(asks=[batch(1)])
        await stream.until(lambda message: message.HasField("welcome"))
        await eventually(lambda: link.source().calls)
        stream.call.cancel()
        await eventually(lambda: not link.source().running and not len(link.broker.sessions))
        assert link.broker.admission.in_flight == 0


async def test_a_reload_reaches_an_open_session_and_a_revoked_token_ends_it(tmp_path):
    other = FREE_SOURCE + FREE_SOURCE.replace('"source"', '"new"')
    both = ROUTE.replace('["source"]', '["source", "new"]') + TWO_TOKENS + other
    async with wire(tmp_path, ROUTE + TWO_TOKENS + FREE_SOURCE, ENVIRON) as link:
        stream = await link.session(token="agents-secret")
        await stream.until(lambda message: message.HasField("welcome"))
        kept = link.source()
        link.rewrite(both)
        changes = await link.broker.reloader.reload()
        assert (changes.added, changes.removed, changes.changed) == (("new",), (), ())
        assert link.source() is kept
        update = await stream.until(lambda m: any(u.HasField("info") for u in m.provider_updates))
        assert [u.provider_id for u in update.provider_updates if u.HasField("info")] == ["new"]
        await stream.send(asks=[batch(1, provider_id="new")])
        assert (await stream.answer()).provider_ids == ["new"]

        link.rewrite(
            ROUTE
            + TWO_TOKENS.replace('"acme"\nroles = ["agent"]', '"acme"\nroles = ["metrics"]')
            + FREE_SOURCE
        )
        assert (await link.broker.reloader.reload()).removed == ("new",)
        async with asyncio.timeout(5):
            assert await stream.end() == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")


async def test_every_error_of_a_unary_call_carries_a_documented_reason(tmp_path):
    async with wire(tmp_path) as link:
        for request, code, reason in (
            (
                pb.GetGuidanceRequest(agent="a", task="task", ask=batch(1, 2)),
                "INVALID_ARGUMENT",
                "TOO_MANY_ROWS",
            ),
            (pb.GetGuidanceRequest(agent="a", task="x", ask=batch(1)), "INVALID_ARGUMENT", "UNKNOWN_TASK"),
            (
                pb.GetGuidanceRequest(agent="a", task="task", ask=batch(1, mode=2)),
                "UNIMPLEMENTED",
                "NOT_SERVED",
            ),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await link.stub.GetGuidance(request, timeout=10)
            assert refused.value.code() is grpc.StatusCode[code]
            assert reason_in(refused.value.trailing_metadata()) == reason


async def test_a_source_that_cancels_itself_gives_a_definite_answer_at_once(tmp_path):
    async with wire(tmp_path) as link:
        link.source().then(Scripted(latency_s=0.1, raises=asyncio.CancelledError()))
        request = pb.GetGuidanceRequest(agent="a", task="task", ask=batch(1))
        async with asyncio.timeout(2):  # the caller's own deadline is far away
            with pytest.raises(grpc.aio.AioRpcError) as failed:
                await link.stub.GetGuidance(request, timeout=30)
        assert failed.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_outcomes_are_counted_once_and_late_ones_tolerated(tmp_path):
    async with wire(tmp_path) as link:
        await link.stub.GetGuidance(pb.GetGuidanceRequest(agent="a", task="task", ask=batch(1)), timeout=10)
        report = pb.ReportOutcomeRequest(
            agent="a", outcomes=[pb.Outcome(ask_id=i, used=True) for i in (1, 1, 2)]
        )
        told = await link.stub.ReportOutcome(report, timeout=10)
        assert (told.accepted, told.duplicates, told.unknown) == (1, 1, 1)


async def test_a_message_above_the_limit_is_refused_naming_it(tmp_path):
    text = "max_message_bytes = 10000\n" + ROUTE + FREE_SOURCE
    async with wire(tmp_path, text) as link:
        request = pb.GetGuidanceRequest(agent="a" * 20_000, task="task", ask=batch(1))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await link.stub.GetGuidance(request, timeout=10)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "10000" in refused.value.details()


async def test_without_its_token_an_open_session_ends_and_no_new_call_is_let_in(tmp_path):
    text = ROUTE + TWO_TOKENS + FREE_SOURCE
    first, second = text.index("[[auth.tokens]]"), text.rindex("[[auth.tokens]]")
    async with wire(tmp_path, text, ENVIRON) as link:
        stream = await link.session(token="agents-secret")
        await stream.until(lambda message: message.HasField("welcome"))
        link.rewrite(text[:first] + text[second:])
        await link.broker.reloader.reload()
        async with asyncio.timeout(5):
            assert await stream.end() == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")
        request = pb.GetGuidanceRequest(agent="a", task="task", ask=batch(1))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await link.stub.GetGuidance(request, metadata=bearer("agents-secret"), timeout=10)
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        again = await link.session(token="agents-secret")
        assert (await again.end())[0] is grpc.StatusCode.UNAUTHENTICATED
        reload = AdminServiceStub(link.channel).Reload
        await reload(admin_pb2.ReloadRequest(), metadata=bearer("operators-secret"))  # the other one holds


async def test_hundreds_of_sessions_over_few_connections_leave_no_trace(tmp_path):
    """Two rounds of 150 sessions at once; those of the second are cut off, not closed."""
    async with wire(tmp_path) as link:
        for number in range(2):
            streams = await asyncio.gather(*(link.session(f"agent-{number}-{i}") for i in range(150)))
            assert len(link.broker.sessions) <= 150
            for ask_id, stream in enumerate(streams, start=1):
                await stream.send(asks=[batch(ask_id)])
            answers = await asyncio.gather(*(stream.answer() for stream in streams))
            assert [list(answer.ask_id) for answer in answers] == [[i] for i in range(1, 151)]
            for stream in streams:
                if number:
                    stream.call.cancel()
                else:
                    await stream.call.done_writing()
            await eventually(lambda: not len(link.broker.sessions), within_s=30)
        assert link.broker.admission.in_flight == link.broker.flights.under_way == 0
        link.broker.identity.sweep(link.broker.clock.now() + 61.0)
        assert link.broker.identity.owners == 0


async def test_an_agent_s_name_is_bounded(tmp_path):
    async with wire(tmp_path) as link:
        stream = await link.session("a" * 257)
        assert await stream.end() == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_VALUE")
        ask = pb.GetGuidanceRequest(agent="a" * 257, task="task", ask=batch(1))
        for call in (
            link.stub.GetGuidance(ask),
            link.stub.ReportOutcome(pb.ReportOutcomeRequest(agent="a" * 257)),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert link.broker.identity.owners == link.broker.admission.in_flight == 0
        await (await link.session("a" * 256)).until(lambda message: message.HasField("welcome"))
