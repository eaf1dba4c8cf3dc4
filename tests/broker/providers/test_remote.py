"""Remote sources over real gRPC on loopback: what goes out, what comes back, and who is believed."""

import asyncio
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import grpc
import numpy as np
import pytest
from pydantic import ValidationError

from broker.clock import SystemClock
from broker.outcomes import AttemptOutcome
from broker.providers.interface import ProviderError, Usage
from broker.providers.making import Making, SetupError
from broker.providers.remote import make_remote
from broker.providers.remote_channel import RemoteSettings
from protos import codec
from protos.guidance.v1 import guidance_pb2, provider_pb2
from protos.types import AskOptions, Price, ProviderState, SimState
from tests.broker.making import TASK, a_call, a_query, a_task
from tests.broker.providers.remote_server import OK, Remote, a_description, an_answer, serving

ROOT = Path(__file__).resolve().parents[3]
CLOCK = SystemClock()


def made(port, tasks=None, **settings):
    told = {"id": "far", "kind": "remote", "address": f"127.0.0.1:{port}"} | settings
    return make_remote(RemoteSettings.model_validate(told), Making(CLOCK, tasks or {TASK: a_task()}))


class Talk:
    """A started source in front of a scripted server."""

    def __init__(self, remote, **settings):
        self.remote, self.settings = remote, settings

    async def __aenter__(self):
        self.serving = serving(self.remote)
        await self.serving.__aenter__()
        self.provider = made(self.remote.port, **self.settings)
        await self.provider.start()
        return self

    async def __aexit__(self, *error):
        await self.provider.close()
        await self.serving.__aexit__(*error)

    async def guided(self, query=None, seconds=5.0):
        return await self.provider.guide(query or a_query(), a_call(CLOCK.now() + seconds))


# ------------------------------------------------------------ what goes out


async def test_rows_go_out_raw_under_the_broker_s_own_ids_and_without_names():
    query = replace(a_query(rows=2), options=AskOptions(provider_id="far", max_price_usd=1.0, hold_steps=5))
    query = replace(query, obs_time_ns=[5, 6], value_at_stake_usd=[0.5, 0.5], lanes=[30, 31])
    async with Talk(Remote(reply=an_answer(rows=2))) as talk:
        await talk.guided(query)
        await talk.guided(query)
        first, second = (request.ask for request in talk.remote.requests)
    assert talk.remote.requests[0].task == TASK
    observation = codec.decode_tensor(first.observations["observation"], "observation")
    assert np.array_equal(observation, query.observations["observation"])
    assert set(first.ask_id).isdisjoint(query.ask_ids)
    assert set(first.ask_id).isdisjoint(second.ask_id)
    assert (list(first.lane), list(first.episode), list(first.step)) == ([0, 1], [0, 0], [3, 3])
    assert (first.options.provider_id, first.options.hold_steps) == ("", 5)
    assert not first.options.HasField("max_price_usd")
    assert (len(first.obs_time_ns), len(first.value_at_stake_usd)) == (0, 0)


@pytest.mark.parametrize("reads", [False, True])
async def test_only_what_the_source_reads_is_sent(reads):
    query = replace(
        a_query(),
        context={"maze": np.zeros((1, 4))},
        history={"past": np.zeros((1, 3, 2))},
        sim_state=SimState(np.zeros((1, 9)), 1, "model"),
    )
    told = guidance_pb2.Reads(context=reads, history=reads, sim_state=reads)
    async with Talk(Remote(description=a_description(reads=told))) as talk:
        await talk.guided(query)
    ask = talk.remote.requests[0].ask
    assert [bool(ask.context), bool(ask.history), ask.HasField("sim_state")] == [reads] * 3


async def test_the_call_s_deadline_is_the_time_that_remains():
    async with Talk(Remote()) as talk:
        await talk.guided(seconds=2.0)
    assert 1.0 < talk.remote.time_left_s[0] < 2.1


async def test_a_token_goes_out_as_a_bearer_token(monkeypatch):
    monkeypatch.setenv("FAR_TOKEN", "s3cret")
    async with Talk(Remote(), token="env:FAR_TOKEN") as talk:
        await talk.guided()
    assert talk.remote.metadata[0]["authorization"] == "Bearer s3cret"


def test_a_token_that_is_not_set_is_refused_by_its_variable(monkeypatch):
    monkeypatch.delenv("FAR_TOKEN", raising=False)
    with pytest.raises(SetupError, match="FAR_TOKEN"):
        made(1, token="env:FAR_TOKEN")


# ------------------------------------------------------------ what comes back


async def test_an_answer_comes_back_with_confidence_usage_and_tube():
    tube = guidance_pb2.ValidWhile(tensor="observation", tolerance=[0.5])
    tube.expected.CopyFrom(codec.encode_tensor(np.zeros((1, 1))))
    usage = provider_pb2.Usage(input_tokens=7, output_tokens=2, price_usd=0.125)
    reply = an_answer(rows=2, confidence=[0.25, 1.0], usage=usage, valid_while=tube)
    async with Talk(Remote(reply=reply)) as talk:
        guided = await talk.guided(a_query(rows=2))
    assert guided.outcome is AttemptOutcome.OK
    assert guided.guidance.actions.tolist() == [[0.5] * 3] * 2
    assert list(guided.confidence) == [0.25, 1.0]
    assert guided.usage == Usage(7, 2, 0.125)
    assert guided.valid_while.tolerance == (0.5,)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (provider_pb2.GUIDE_OUTCOME_NO_GUIDANCE, AttemptOutcome.NO_GUIDANCE),
        (provider_pb2.GUIDE_OUTCOME_REFUSED, AttemptOutcome.REFUSED),
        (provider_pb2.GUIDE_OUTCOME_UNSPECIFIED, AttemptOutcome.INVALID),
    ],
)
async def test_its_own_word_for_no_answer_is_kept(outcome, expected):
    async with Talk(Remote(reply=provider_pb2.GuideResponse(outcome=outcome))) as talk:
        guided = await talk.guided()
    assert (guided.outcome, guided.guidance) == (expected, None)


@pytest.mark.parametrize(
    "reply",
    [
        provider_pb2.GuideResponse(outcome=OK),
        an_answer(rows=2),
        an_answer(actions=2),
        an_answer(value=math.nan),
        an_answer(value=math.inf),
        an_answer(confidence=[0.5, 0.5]),
        an_answer(confidence=[1.5]),
        an_answer(confidence=[math.nan]),
    ],
)
async def test_a_reply_that_breaks_the_contract_is_invalid_and_not_passed_on(reply):
    async with Talk(Remote(reply=reply)) as talk:
        guided = await talk.guided()
    assert (guided.outcome, guided.guidance) == (AttemptOutcome.INVALID, None)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (grpc.StatusCode.UNAVAILABLE, AttemptOutcome.PROVIDER_FAULT),
        (grpc.StatusCode.INTERNAL, AttemptOutcome.PROVIDER_FAULT),
        (grpc.StatusCode.CANCELLED, AttemptOutcome.PROVIDER_FAULT),
        (grpc.StatusCode.DEADLINE_EXCEEDED, AttemptOutcome.DEADLINE),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, AttemptOutcome.RATE_LIMITED),
        (grpc.StatusCode.UNAUTHENTICATED, AttemptOutcome.MISCONFIGURED),
        (grpc.StatusCode.INVALID_ARGUMENT, AttemptOutcome.MISCONFIGURED),
    ],
)
async def test_a_status_becomes_the_outcome_of_the_attempt(status, expected):
    async with Talk(Remote(reply=status)) as talk:
        with pytest.raises(ProviderError) as error:
            await talk.guided()
    assert error.value.outcome is expected


@pytest.mark.parametrize(("trailer", "expected"), [("250", 250), ("-1", None), ("soon", None)])
async def test_its_wish_to_be_left_alone_is_read_from_the_trailer(trailer, expected):
    trailers = (("grpc-retry-pushback-ms", trailer),)
    async with Talk(Remote(reply=grpc.StatusCode.RESOURCE_EXHAUSTED, trailers=trailers)) as talk:
        with pytest.raises(ProviderError) as error:
            await talk.guided()
    assert error.value.retry_after_ms == expected


async def test_a_reply_above_the_size_limit_is_a_wrong_setup_and_cools_nothing():
    async with Talk(Remote(reply=an_answer(rows=500)), max_message_bytes=1000) as talk:
        with pytest.raises(ProviderError) as error:
            await talk.guided()
    assert error.value.outcome is AttemptOutcome.MISCONFIGURED


async def test_a_cancelled_call_is_cancelled_at_the_source():
    async with Talk(Remote(reply=None)) as talk:
        task = asyncio.create_task(talk.guided())
        async with asyncio.timeout(10):
            await talk.remote.asked.wait()
            task.cancel()
            await talk.remote.cancelled.wait()
            await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


# ------------------------------------------------------------ who is believed


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"period_us": 20_000}, "period_us"),
        ({"action_names": ["c", "b", "a"]}, "action_names"),
        ({"state_scope": guidance_pb2.STATE_SCOPE_EPISODE}, "state_scope"),
        ({"guidance_kinds": []}, "guidance_kinds"),
        ({"tasks": ["another"]}, "tasks"),
        ({"layout_id": "v2"}, "layout_id"),
        ({"action": guidance_pb2.ActionSpec(box=guidance_pb2.BoxSpace(shape=[4]))}, "action"),
        ({"action": guidance_pb2.ActionSpec(discrete=guidance_pb2.DiscreteSpace(n=4))}, "action"),
        (
            {"observations": [guidance_pb2.TensorSpec(name="observation", dtype=12, shape=[12])]},
            "observations",
        ),
    ],
)
async def test_a_source_that_does_not_fit_the_task_is_refused_at_start_by_what_differs(changes, named):
    async with serving(Remote(description=a_description(**changes))) as remote:
        provider = made(remote.port, layout_id="v1" if named == "layout_id" else "")
        with pytest.raises(SetupError) as error:
            await provider.start()
        assert error.value.key == named
        await provider.close()


async def test_the_operator_s_price_timeout_and_concurrency_win_and_the_rest_is_the_source_s_word():
    told = a_description(
        price=guidance_pb2.Price(usd_per_ask=9.0), timeout_ms=9, max_concurrency=9, chunk_len=4
    )
    async with Talk(Remote(description=told), price={"usd_per_ask": 0.5}, timeout_ms=70) as talk:
        info = talk.provider.info
    assert (info.provider_id, info.price, info.timeout_ms) == ("far", Price(0.5), 70)
    assert (info.max_concurrency, info.chunk_len, info.leasable) == (9, 4, True)
    assert info.action == a_task().action


async def test_a_source_that_is_not_there_yet_gets_no_calls_until_it_is():
    remote = Remote()
    async with serving(remote):
        pass
    provider = made(remote.port, describe_timeout_ms=200, retry_describe_ms=20)
    await provider.start()
    assert provider.state is ProviderState.LOADING
    async with serving(remote), asyncio.timeout(20):
        while provider.state is not ProviderState.READY:  # noqa: ASYNC110 (it tells nobody)
            await asyncio.sleep(0.01)
        guided = await provider.guide(a_query(), a_call(CLOCK.now() + 5))
        assert guided.outcome is AttemptOutcome.OK
    await provider.close()


async def test_a_source_that_goes_away_is_at_fault_and_no_hang():
    async with Talk(Remote()) as talk:
        await talk.serving.__aexit__(None, None, None)
        with pytest.raises(ProviderError) as error:
            await talk.guided(seconds=5)
        talk.serving = serving(talk.remote)
        await talk.serving.__aenter__()
    assert error.value.outcome is AttemptOutcome.PROVIDER_FAULT


@pytest.mark.parametrize(
    "changes",
    [
        {"address": "planner.example:443"},
        {"address": "10.0.0.1:50061"},
        {"address": "127.0.0.1"},
        {"address": "127.0.0.1:50061", "tls": {"cert_file": str(ROOT / "README.md")}},
        {"address": "127.0.0.1:50061", "token": "s3cret"},
    ],
)
def test_plaintext_to_another_machine_and_half_a_setup_are_refused(changes):
    with pytest.raises(ValidationError):
        RemoteSettings.model_validate({"id": "far", "kind": "remote"} | changes)


# ------------------------------------------------------------ the examples


async def examples_answer(*command):
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=subprocess.PIPE)
    try:
        async with asyncio.timeout(60):
            port = int((await process.stdout.readline()).split()[-1])
        provider = made(port, {TASK: replace(a_task(), action=replace(a_task().action, names=()))})
        await provider.start()
        query = a_query(rows=3)
        guided = await provider.guide(query, a_call(CLOCK.now() + 10))
        await provider.close()
    finally:
        process.terminate()
        await process.wait()
    return query.observations["observation"], guided.guidance.actions


def stance(observation):
    joints, rates = observation[:, 2:5], observation[:, 8:11]
    return np.clip(np.array([-0.3, -0.6, 0.2]) - joints - 0.1 * rates, -1, 1).astype(np.float32)


async def test_the_example_in_python_answers_as_it_says():
    command = (sys.executable, "-m", "examples.remote_provider.server", "--address", "127.0.0.1:0")
    observation, actions = await examples_answer(*command)
    assert np.allclose(actions, stance(observation), atol=1e-6)


@pytest.mark.services
async def test_the_example_in_javascript_gives_the_same_answers():
    example = ROOT / "examples" / "remote_provider_node"
    observation, actions = await examples_answer("node", str(example / "server.mjs"), "127.0.0.1:0")
    assert np.allclose(actions, stance(observation), atol=1e-6)
