"""What a session hears of its sources without asking."""

from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import ProviderState
from tests.broker.house import FREE_SOURCE, ROUTE, house

OTHER = FREE_SOURCE.replace("source", "other")
TWO = ROUTE.replace('["source"]', '["source", "other"]') + FREE_SOURCE + OTHER


async def test_a_new_session_is_told_of_every_source_and_then_only_of_changes():
    with house(TWO) as home:
        agent = home.open()
        told = {update.provider_id: update.state for update in agent.read().provider_updates}
        assert told == {"source": pb.ProviderUpdate.STATE_READY, "other": pb.ProviderUpdate.STATE_READY}
        home.broker.providers.push_changes()
        agent.forget()
        home.broker.providers.push_changes()
        assert not agent.read().provider_updates
        home.source("other").state = ProviderState.LOADING
        home.broker.providers.push_changes()
        changed = agent.read().provider_updates
        assert [(u.provider_id, u.state) for u in changed] == [("other", pb.ProviderUpdate.STATE_LOADING)]


async def test_latency_as_it_was_measured_goes_along():
    with house() as home:
        agent = home.open()
        for ask_id in range(10):
            agent.ask(ask_id)
            await agent.after(0.2)
        home.broker.providers.push_changes()
        assert agent.read().provider_updates[-1].latency.samples > 0
