"""One row, one reply; a retry is the same ask."""

from __future__ import annotations

import grpc
import numpy as np
import pytest

from agents.client import CallFailed, GuidanceClient
from tests.client.scripted_broker import ScriptedBroker

OBSERVATION = {"observation": np.zeros(3)}


async def test_one_row_gets_its_answer_and_has_its_clocks_set(
    broker: ScriptedBroker, client: GuidanceClient
) -> None:
    answer = await client.get_guidance("task", OBSERVATION, step=7, timeout_s=20)
    assert answer.guidance.actions.tolist() == [[0.5, 0.5]]
    (request,) = broker.unary
    assert (request.agent, request.task, list(request.ask.step)) == ("tester", "task", [7])
    assert request.ask.options.final_by_ms == 5_000


async def test_a_retry_after_unavailable_carries_the_same_ask_id(
    broker: ScriptedBroker, client: GuidanceClient
) -> None:
    broker.unary_failures = [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE]
    await client.get_guidance("task", OBSERVATION, timeout_s=20)
    assert len(broker.unary) == 3
    assert len({request.ask.ask_id[0] for request in broker.unary}) == 1


async def test_two_calls_are_two_asks(broker: ScriptedBroker, client: GuidanceClient) -> None:
    await client.get_guidance("task", OBSERVATION, timeout_s=20)
    await client.get_guidance("task", OBSERVATION, timeout_s=20)
    assert len({request.ask.ask_id[0] for request in broker.unary}) == 2


async def test_the_broker_s_no_is_not_tried_again(broker: ScriptedBroker, client: GuidanceClient) -> None:
    broker.unary_failures = [grpc.StatusCode.RESOURCE_EXHAUSTED]
    with pytest.raises(CallFailed) as caught:
        await client.get_guidance("task", OBSERVATION, timeout_s=20)
    assert (caught.value.code, caught.value.message) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "scripted")
    assert len(broker.unary) == 1


async def test_a_broker_that_is_away_fails_the_call_in_its_time() -> None:
    async with GuidanceClient("127.0.0.1:1") as client:
        with pytest.raises(CallFailed) as caught:
            await client.get_guidance("task", OBSERVATION, timeout_s=0.3)
    assert caught.value.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


async def test_the_call_goes_to_the_next_address(broker: ScriptedBroker) -> None:
    async with GuidanceClient(["127.0.0.1:1", broker.address]) as client:
        await client.get_guidance("task", OBSERVATION, timeout_s=20)
    assert len(broker.unary) == 1
