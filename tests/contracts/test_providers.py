"""What every kind of source of the registry promises. A new kind adds one line to ``SAMPLES``."""

import asyncio
from contextlib import asynccontextmanager

import numpy as np
import pytest

from broker.clock import SystemClock
from broker.config import ProviderSettings
from broker.outcomes import AttemptOutcome
from broker.providers.making import Making
from broker.providers.registry import KINDS, PROVIDER_SETTINGS
from protos import codec
from protos.types import ActionAdvice, GuidanceKind, Price, ProviderKind, ProviderState
from tests.broker.making import TASK, a_call, a_query, a_task, write_policy
from tests.broker.providers.remote_server import Remote, an_answer, serving

CLOCK = SystemClock()
ROWS = 3
PRICE = {"usd_per_ask": 0.25, "usd_per_leased_step": 0.5}

SAMPLES = {
    "rules": lambda place: {},
    "policy": lambda place: {"file": str(write_policy(place / "policy.safetensors"))},
    "simulated": lambda place: {"answer": [0.5, 0.0, -0.5]},
    "remote": lambda place: {"address": "127.0.0.1:1"},
}


def made(kind, place, **settings):
    entry = KINDS[kind]
    common = {"id": "mine", "kind": kind, "price": PRICE, "timeout_ms": 77, "max_concurrency": 5}
    told = entry.settings.model_validate(common | SAMPLES[kind](place) | settings)
    return entry.make(told, Making(CLOCK, {TASK: a_task()}))


@asynccontextmanager
async def running(kind, place):
    async with serving(Remote(reply=an_answer(rows=ROWS))) as remote:
        address = {"address": f"127.0.0.1:{remote.port}"} if kind == "remote" else {}
        provider = made(kind, place, **address)
        await provider.start()
        try:
            yield provider
        finally:
            await provider.close()


def call():
    return a_call(CLOCK.now() + 10)


def test_every_kind_of_the_registry_is_under_contract():
    assert set(SAMPLES) == set(KINDS) == set(PROVIDER_SETTINGS)


def test_every_kind_has_settings_that_the_configuration_can_read_and_a_number_on_the_wire():
    for name, kind in KINDS.items():
        assert issubclass(kind.settings, ProviderSettings)
        assert PROVIDER_SETTINGS[name] is kind.settings
        assert ProviderKind[name.upper()]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_making_one_needs_no_running_loop_and_shows_what_was_configured(kind, tmp_path):
    info = made(kind, tmp_path).info
    assert (info.provider_id, info.kind) == ("mine", ProviderKind[kind.upper()])
    assert (info.price, info.timeout_ms, info.max_concurrency) == (Price(0.25, 0.5), 77, 5)
    assert info.tasks == (TASK,)


@pytest.mark.parametrize("kind", sorted(KINDS))
async def test_it_is_ready_once_started_and_its_declaration_survives_the_wire(kind, tmp_path):
    async with running(kind, tmp_path) as provider:
        assert provider.state is ProviderState.READY
        info = provider.info
        assert GuidanceKind.ACTION in info.guidance_kinds
        assert info.leasable
        assert codec.provider_info_from_proto(codec.provider_info_to_proto(info)) == info


@pytest.mark.parametrize("kind", sorted(KINDS))
async def test_every_row_gets_one_finite_action_of_the_task_s_size_within_its_bounds(kind, tmp_path):
    async with running(kind, tmp_path) as provider:
        guided = await provider.guide(a_query(rows=ROWS), call())
        assert guided.outcome is AttemptOutcome.OK
        assert isinstance(guided.guidance, ActionAdvice)
        actions = guided.guidance.actions
        assert actions.shape == (ROWS, 3)
        assert actions.dtype == np.float32
        assert np.isfinite(actions).all()
        assert np.abs(actions).max() <= 1.0


@pytest.mark.parametrize("kind", sorted(KINDS))
async def test_the_same_rows_get_the_same_answer_and_are_left_as_they_were(kind, tmp_path):
    async with running(kind, tmp_path) as provider:
        query = a_query(rows=ROWS)
        before = query.observations["observation"].copy()
        query.observations["observation"].flags.writeable = False
        first, second = [await provider.guide(query, call()) for _ in range(2)]
        assert np.array_equal(first.guidance.actions, second.guidance.actions)
        assert np.array_equal(query.observations["observation"], before)


@pytest.mark.parametrize("kind", sorted(KINDS))
async def test_many_calls_at_once_are_all_answered(kind, tmp_path):
    async with running(kind, tmp_path) as provider:
        calls = [provider.guide(a_query(rows=ROWS, seed=seed), call()) for seed in range(20)]
        ended = await asyncio.gather(*calls)
        assert {guided.outcome for guided in ended} == {AttemptOutcome.OK}


@pytest.mark.parametrize("kind", sorted(KINDS))
async def test_a_cancelled_call_does_not_spoil_the_next(kind, tmp_path):
    async with running(kind, tmp_path) as provider:
        task = asyncio.create_task(provider.guide(a_query(rows=ROWS), call()))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await provider.guide(a_query(rows=ROWS), call())).outcome is AttemptOutcome.OK


@pytest.mark.parametrize("kind", sorted(KINDS))
async def test_closing_one_that_was_never_started_does_no_harm(kind, tmp_path):
    await made(kind, tmp_path).close()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_unknown_key_is_refused(kind, tmp_path):
    with pytest.raises(ValueError, match="Extra inputs are not permitted"):
        made(kind, tmp_path, timeout=800)
