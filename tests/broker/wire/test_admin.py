"""The operator's service over the wire."""

import grpc
import pytest

from protos.guidance.v1 import admin_pb2 as pb
from protos.guidance.v1 import guidance_pb2
from protos.guidance.v1.admin_pb2_grpc import AdminServiceStub
from tests.broker.house import FREE_SOURCE, ROUTE, batch
from tests.e2e.wire import ENVIRON, TWO_TOKENS, bearer, reason_in, wire

PAID = '[[providers]]\nid = "source"\nkind = "scripted"\ncache = true\nprice = { usd_per_ask = 0.004 }\n'
TWO = ROUTE.replace('["source"]', '["source", "other"]')


async def test_a_drained_provider_is_given_no_new_work_and_undo_brings_it_back(tmp_path):
    text = TWO + FREE_SOURCE + FREE_SOURCE.replace('"source"', '"other"')
    async with wire(tmp_path, text) as link:
        admin, stream = AdminServiceStub(link.channel), await link.session()
        await admin.DrainProvider(pb.DrainProviderRequest(provider_id="source"))
        await stream.send(asks=[batch(1)])
        assert (await stream.answer()).provider_ids == ["other"]
        states = {u.provider_id: u.state for m in stream.heard for u in m.provider_updates}
        assert states["source"] == guidance_pb2.ProviderUpdate.STATE_DRAINING
        await stream.send(asks=[batch(2, provider_id="source")])
        assert (await stream.failure()).reason == "PROVIDER_NOT_READY"
        await admin.DrainProvider(pb.DrainProviderRequest(provider_id="source", undo=True))
        await stream.send(asks=[batch(3)])
        assert (await stream.answer()).provider_ids == ["source"]


async def test_a_route_is_explained_without_following_it(tmp_path):
    text = TWO + FREE_SOURCE + "leasable = false\n" + FREE_SOURCE.replace('"source"', '"other"')
    async with wire(tmp_path, text) as link:
        query = guidance_pb2.GetGuidanceRequest(task="task", ask=batch(1, hold_steps=5))
        told = await AdminServiceStub(link.channel).ExplainRoute(pb.ExplainRouteRequest(query=query))
        assert told.strategy == "fixed"
        assert [step.provider_id for step in told.plan] == ["other"]
        assert [(step.provider_id, step.why) for step in told.excluded] == [("source", "gives no leases")]
        assert link.source().calls == []


async def test_the_ledger_is_told_and_the_cache_flushed(tmp_path):
    async with wire(tmp_path, ROUTE + PAID) as link:
        admin, stream = AdminServiceStub(link.channel), await link.session()
        for ask_id in (1, 2):
            await stream.send(asks=[batch(ask_id)])
            await stream.answer()
        lines = (await admin.Ledger(pb.LedgerRequest())).lines
        assert [(line.provider_id, line.charges) for line in lines] == [("source", 1)]
        assert lines[0].charged_usd == pytest.approx(0.004)
        assert lines[0].saved_usd == pytest.approx(0.004)
        assert (await admin.Flush(pb.FlushRequest(provider_id="source"))).entries == 1
        await stream.send(asks=[batch(3)])
        await stream.answer()
        assert len(link.source().calls) == 2


async def test_a_stop_and_constraints_reach_running_sessions_and_only_those_meant(tmp_path):
    async with wire(tmp_path) as link:
        admin = AdminServiceStub(link.channel)
        one, two = await link.session("one"), await link.session("two")
        for stream in (one, two):
            await stream.until(lambda message: message.HasField("welcome"))
        stop = guidance_pb2.OperatorPush(stop=True, reason="smoke")
        assert (await admin.Push(pb.PushRequest(agent="one", push=stop))).sessions == 1
        assert (await one.until(lambda message: message.pushes)).pushes[0].reason == "smoke"
        bounds = guidance_pb2.Constraints(low=[-0.5], high=[0.5], hard=True, ttl_ms=1000)
        assert (await admin.Push(pb.PushRequest(constraints=bounds))).sessions == 2
        told = (await two.until(lambda message: message.constraints)).constraints[0]
        assert (list(told.high), told.source, told.version) == ([0.5], "operator", 1)
        assert not any(message.pushes for message in two.heard)


async def test_sessions_are_listed(tmp_path):
    async with wire(tmp_path) as link:
        stream = await link.session("one", lanes=3)
        await stream.until(lambda message: message.HasField("welcome"))
        states = (await AdminServiceStub(link.channel).ListSessions(pb.ListSessionsRequest())).sessions
        assert [(state.agent, state.task, state.lanes) for state in states] == [("one", "task", 3)]


async def test_a_configuration_with_a_mistake_is_refused_and_the_old_one_serves_on(tmp_path):
    async with wire(tmp_path) as link:
        admin = AdminServiceStub(link.channel)
        for text in ("providers = 3", ROUTE + FREE_SOURCE + "[limits]\nmax_attempts = 7\n"):
            link.rewrite(text)
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await admin.Reload(pb.ReloadRequest())
            assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
            assert reason_in(refused.value.trailing_metadata()) == "INVALID_CONFIG"
        stream = await link.session()
        await stream.send(asks=[batch(1)])
        assert list((await stream.answer()).ask_id) == [1]
        assert link.broker.reloader.generation == 1


async def test_operators_and_agents_keep_to_their_own_services(tmp_path):
    async with wire(tmp_path, ROUTE + TWO_TOKENS + FREE_SOURCE, ENVIRON) as link:
        admin = AdminServiceStub(link.channel)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await admin.ListSessions(pb.ListSessionsRequest(), metadata=bearer("agents-secret"))
        assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
        await admin.ListSessions(pb.ListSessionsRequest(), metadata=bearer("operators-secret"))
        stream = await link.session(token="operators-secret")
        assert await stream.end() == (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")
