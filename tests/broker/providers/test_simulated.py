"""Simulated sources: the latency, the faults and the price that the configuration says, from one seed."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from broker.outcomes import AttemptOutcome
from broker.providers.interface import ProviderError
from broker.providers.latency import Constant, Lognormal
from broker.providers.making import Making, SetupError
from broker.providers.simulated import SimulatedSettings, make_simulated
from broker.testing import ManualClock, Scripted, scripted_provider, settle
from protos.types import ActionAdvice, GuidanceKind, Price, ProviderKind, ProviderState, Subgoals
from tests.broker.making import TASK, a_call, a_query, a_task


def made(clock=None, inner=None, **settings):
    origin = {"wraps": inner.info.provider_id} if inner else {"answer": [0.5, -0.5, 0.25]}
    told = SimulatedSettings.model_validate({"id": "sim", "kind": "simulated"} | origin | settings)
    sources = {inner.info.provider_id: inner} if inner else {}
    return make_simulated(told, Making(clock or ManualClock(), {TASK: a_task()}, sources))


def bounded(*actions):
    inner = scripted_provider("inner", otherwise=Scripted(actions=actions))
    inner.info = replace(inner.info, action=a_task().action)
    return inner


async def actions_of(provider, rows=1):
    return (await provider.guide(a_query(rows=rows), a_call())).guidance.actions


async def test_by_itself_it_gives_its_constant_answer_to_every_row():
    assert np.array_equal(await actions_of(made(), rows=2), np.array([[0.5, -0.5, 0.25]] * 2, np.float32))


async def test_the_reply_comes_when_the_drawn_latency_is_over_and_not_before():
    clock = ManualClock()
    provider = made(clock, latency={"distribution": "constant", "value_ms": 15})
    task = asyncio.create_task(provider.guide(a_query(), a_call()))
    await clock.advance(0.0149)
    assert not task.done()
    await clock.advance(0.0002)
    assert (await task).provider_us == pytest.approx(15_000, abs=1)


async def test_what_the_wrapped_source_takes_itself_is_part_of_the_latency():
    clock = ManualClock()
    inner = scripted_provider("inner", clock=clock, otherwise=Scripted(latency_s=0.010))
    provider = made(clock, inner, latency={"distribution": "constant", "value_ms": 15})
    task = asyncio.create_task(provider.guide(a_query(), a_call()))
    await clock.advance(0.015)
    assert task.done()


def test_lognormal_draws_have_the_median_and_the_99th_percentile_they_say():
    rng = np.random.default_rng(0)
    law = Lognormal(distribution="lognormal", p50_ms=1.5, p99_ms=3.5)
    draws = [1000 * law.draw_s(rng) for _ in range(20_000)]
    assert np.percentile(draws, 50) == pytest.approx(1.5, rel=0.02)
    assert np.percentile(draws, 99) == pytest.approx(3.5, rel=0.05)


def test_a_constant_is_constant():
    law = Constant(distribution="constant", value_ms=2.0)
    assert {law.draw_s(np.random.default_rng(seed)) for seed in range(5)} == {0.002}


async def test_the_same_seed_gives_the_same_story():
    async def story(seed):
        noisy = made(seed=seed, degradation={"kind": "noisy"}, error_rate=0.5)
        told = []
        for _ in range(10):
            try:
                told.append((await actions_of(noisy)).tolist())
            except ProviderError as error:
                told.append(error.outcome)
        return told

    assert await story(1) == await story(1)
    assert await story(1) != await story(2)


async def test_the_error_rate_is_the_share_of_calls_that_fail():
    provider = made(error_rate=0.2)
    calls = [provider.guide(a_query(), a_call()) for _ in range(1000)]
    ended = await asyncio.gather(*calls, return_exceptions=True)
    failed = [error.outcome for error in ended if isinstance(error, ProviderError)]
    assert set(failed) == {AttemptOutcome.PROVIDER_FAULT}
    assert 160 <= len(failed) <= 240


async def test_undertuned_scales_the_action_down():
    provider = made(inner=bounded(0.8, -0.4, 0.0), degradation={"kind": "undertuned", "strength": 0.25})
    assert await actions_of(provider) == pytest.approx(np.array([[0.6, -0.3, 0.0]]))


async def test_biased_is_off_by_the_same_amount_in_the_same_direction_every_time():
    provider = made(inner=bounded(0.1, 0.1, 0.1), degradation={"kind": "biased", "strength": 0.3})
    first, second = await actions_of(provider), await actions_of(provider)
    assert np.array_equal(first, second)
    assert np.abs(first - 0.1) == pytest.approx(np.full((1, 3), 0.3), abs=1e-6)


async def test_noisy_spreads_as_said():
    provider = made(inner=bounded(0.0, 0.0, 0.0), degradation={"kind": "noisy", "strength": 0.1})
    assert (await actions_of(provider, rows=3000)).std() == pytest.approx(0.1, rel=0.05)


async def test_lying_is_right_but_where_the_action_is_strong():
    lying = {"kind": "lying", "above": 0.5}
    assert await actions_of(made(inner=bounded(0.2, -0.3, 0.1), degradation=lying)) == pytest.approx(
        np.array([[0.2, -0.3, 0.1]])
    )
    assert await actions_of(made(inner=bounded(0.9, -0.8, 1.0), degradation=lying)) == pytest.approx(
        np.array([[-0.9, 0.8, -1.0]])
    )


async def test_a_degraded_action_stays_within_the_bounds():
    provider = made(inner=bounded(1.0, -1.0, 0.9), degradation={"kind": "noisy", "strength": 5.0})
    assert np.abs(await actions_of(provider, rows=50)).max() <= 1.0


async def test_slow_takes_ten_times_as_long():
    clock = ManualClock()
    latency = {"distribution": "constant", "value_ms": 2}
    task = asyncio.create_task(
        made(clock, latency=latency, degradation={"kind": "slow"}).guide(a_query(), a_call())
    )
    await clock.advance(0.0199)
    assert not task.done()
    await clock.advance(0.0002)
    assert task.done()


async def test_dead_never_answers_and_can_be_cancelled():
    clock = ManualClock()
    provider = made(clock, degradation={"kind": "dead"})
    task = asyncio.create_task(provider.guide(a_query(), a_call()))
    await clock.advance(3600)
    assert not task.done()
    task.cancel()
    await settle()
    assert task.cancelled()


async def test_guidance_without_actions_cannot_be_degraded_and_says_so():
    inner = scripted_provider("inner", otherwise=Scripted(guidance=Subgoals(())))
    with pytest.raises(ProviderError) as error:
        await made(inner=inner, degradation={"kind": "noisy"}).guide(a_query(), a_call())
    assert error.value.outcome is AttemptOutcome.MISCONFIGURED


async def test_what_is_not_degraded_passes_as_it_is():
    advice = ActionAdvice(np.zeros((1, 3), np.float32))
    inner = scripted_provider("inner", otherwise=Scripted(guidance=advice, confidence=(0.9,)))
    guided = await made(inner=inner).guide(a_query(), a_call())
    assert guided.guidance is advice
    assert guided.confidence == (0.9,)


def test_it_shows_the_wrapped_source_under_its_own_name_and_price():
    inner = scripted_provider("inner", kind=ProviderKind.POLICY, price=Price(usd_per_ask=9.0), leasable=True)
    provider = made(inner=inner, price={"usd_per_leased_step": 0.001}, timeout_ms=77)
    info = provider.info
    assert (info.provider_id, info.kind, info.leasable) == ("sim", ProviderKind.SIMULATED, True)
    assert info.guidance_kinds == frozenset({GuidanceKind.ACTION})
    assert (info.price, info.timeout_ms) == (Price(usd_per_leased_step=0.001), 77)
    assert provider.info is info


def test_it_is_as_ready_as_what_it_wraps():
    inner = scripted_provider("inner")
    provider = made(inner=inner)
    inner.state = ProviderState.LOADING
    assert provider.state is ProviderState.LOADING


async def test_starting_and_closing_leaves_the_wrapped_source_alone():
    inner = scripted_provider("inner")
    provider = made(inner=inner)
    await provider.start()
    await provider.close()
    assert (inner.started, inner.closed) == (0, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"wraps": "a", "answer": [0.0]},
        {},
        {"answer": [0.0], "latency": {"distribution": "lognormal", "p50_ms": 2, "p99_ms": 1}},
        {"answer": [0.0], "latency": {"distribution": "uniform", "low_ms": 1}},
        {"answer": [0.0], "error_rate": 1.5},
        {"answer": [0.0], "degradation": {"kind": "sleepy"}},
        {"answer": [0.0], "latency_ms": 5},
    ],
)
def test_settings_that_make_no_sense_are_refused(changes):
    with pytest.raises(ValidationError):
        SimulatedSettings.model_validate({"id": "sim", "kind": "simulated"} | changes)


def test_wrapping_what_is_not_there_is_refused_by_name():
    settings = SimulatedSettings(id="sim", kind="simulated", wraps="ghost")
    with pytest.raises(SetupError, match="ghost"):
        make_simulated(settings, Making(ManualClock()))


def test_an_answer_of_another_length_is_refused():
    settings = SimulatedSettings.model_validate({"id": "sim", "kind": "simulated", "answer": [0.0]})
    with pytest.raises(SetupError, match="answer"):
        make_simulated(settings, Making(ManualClock(), {TASK: a_task()}))
