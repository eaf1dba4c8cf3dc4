"""What a source's past says of it: failures are no latencies, cooldowns only grow, old samples go."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.outcomes import AttemptOutcome
from broker.routing.stats import KEPT_SAMPLES, WARM_UP_CALLS, Stats, quantiles_of
from broker.testing import ManualClock, scripted_provider
from protos.types import LatencyQuantiles, ProviderState

OK, FAULT, LIMITED = AttemptOutcome.OK, AttemptOutcome.PROVIDER_FAULT, AttemptOutcome.RATE_LIMITED
INFO = scripted_provider("one").info


class Past:
    """Stats of one source on a clock moved by hand."""

    def __init__(self, **options):
        self.clock = ManualClock()
        self.stats = Stats(self.clock, **options)

    def ended(self, outcome, seconds=0.1, retry_after_ms=None, times=1):
        for _ in range(times):
            self.stats.started("one")
            self.stats.ended("one", outcome, seconds, retry_after_ms)

    def warm(self):
        self.ended(OK, 9.0, times=WARM_UP_CALLS)
        return self

    @property
    def candidate(self):
        return self.stats.candidate(INFO, ProviderState.READY)


def test_quantiles_are_nearest_ranks():
    told = quantiles_of([i / 1000 for i in range(1, 101)])
    assert (told.p50_ms, told.p95_ms, told.p99_ms, told.samples) == (50.0, 95.0, 99.0, 100)


def test_no_samples_make_no_error():
    assert quantiles_of([]) == LatencyQuantiles()


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=60))
def test_quantiles_are_samples_and_in_order(seconds):
    told = quantiles_of(seconds)
    assert told.p50_ms <= told.p95_ms <= told.p99_ms
    assert {told.p50_ms, told.p95_ms, told.p99_ms} <= {value * 1000 for value in seconds}


def test_the_first_calls_are_warm_up_and_left_out():
    past = Past().warm()
    past.ended(OK, 0.002)
    assert past.candidate.latency == LatencyQuantiles(2.0, 2.0, 2.0, 1)


@pytest.mark.parametrize("outcome", [outcome for outcome in AttemptOutcome if not outcome.usable])
def test_what_was_not_usable_never_enters_the_latency(outcome):
    past = Past().warm()
    past.ended(OK, 0.2)
    past.ended(outcome, 0.003, times=50)
    assert past.candidate.latency == LatencyQuantiles(200.0, 200.0, 200.0, 1)


async def test_old_samples_leave_the_window_but_for_the_newest_few():
    past = Past().warm()
    past.ended(OK, 1.0, times=20)
    await past.clock.advance(61)
    past.ended(OK, 0.5)
    latency = past.candidate.latency
    assert latency.samples == KEPT_SAMPLES
    await past.clock.advance(1)
    past.ended(OK, 0.5, times=20)
    await past.clock.advance(1)
    assert past.candidate.latency.p99_ms == 500.0


def test_failures_lower_quality_and_blameless_ends_do_not():
    past = Past()
    past.ended(AttemptOutcome.CANCELLED, times=20)
    past.ended(AttemptOutcome.NO_GUIDANCE, times=20)
    past.ended(AttemptOutcome.HEDGE_LOST, times=20)
    assert past.candidate.quality == 1.0
    past.ended(FAULT, times=20)
    assert past.candidate.quality < 0.5


async def test_a_cooldown_ends_at_the_latest_of_all_known_ends():
    past = Past(cooldown_s=60.0)
    past.ended(LIMITED, retry_after_ms=1000)
    past.ended(LIMITED, times=7)
    await past.clock.advance(2)
    assert past.candidate.state is ProviderState.COOLING
    past.ended(LIMITED, retry_after_ms=1)
    await past.clock.advance(57.9)
    assert past.candidate.state is ProviderState.COOLING
    await past.clock.advance(0.2)
    assert (past.candidate.state, past.candidate.available_at) == (ProviderState.READY, 0.0)


async def test_an_absurd_retry_after_is_capped_and_a_cooldown_of_nothing_is_none():
    past = Past(cooldown_s=0.0)
    past.ended(LIMITED)
    assert past.candidate.state is ProviderState.READY
    past.ended(LIMITED, retry_after_ms=86_400_000)
    await past.clock.advance(301)
    assert past.candidate.state is ProviderState.READY


def test_in_flight_counts_started_less_ended():
    past = Past()
    past.stats.started("one")
    past.stats.started("one")
    past.stats.ended("one", FAULT, 0.1)
    assert past.candidate.in_flight == 1


def test_another_state_than_ready_is_passed_on():
    past = Past()
    assert past.stats.candidate(INFO, ProviderState.DRAINING).state is ProviderState.DRAINING


def test_a_forgotten_source_starts_afresh():
    past = Past().warm()
    past.ended(OK, times=9)
    past.stats.forget("one")
    assert past.candidate.latency.samples == 0


@given(st.lists(st.tuples(st.sampled_from(list(AttemptOutcome)), st.floats(0, 100)), max_size=40))
def test_whatever_happens_the_figures_are_finite(story):
    past = Past()
    for outcome, seconds in story:
        past.ended(outcome, seconds)
    told = past.candidate
    figures = (told.quality, told.latency.p50_ms, told.latency.p99_ms, told.available_at)
    assert all(math.isfinite(figure) for figure in figures)
    assert 0.0 <= told.quality <= 1.0
