"""The time kept for the fallback and the broker-wide budget of extra attempts, in literal figures."""

import pytest

from broker.calling.reserve import ExtraAttempts, reserve_s
from protos.types import ProviderKind


@pytest.mark.parametrize("kind", [ProviderKind.REMOTE, ProviderKind.LLM, ProviderKind.HUMAN])
def test_before_a_source_outside_the_process_at_least_50_ms_or_a_tenth_is_kept(kind):
    assert reserve_s(kind, 5.0, 0.001) == 0.5
    assert reserve_s(kind, 0.2, 0.001) == 0.05


@pytest.mark.parametrize("kind", [ProviderKind.RULES, ProviderKind.POLICY, ProviderKind.SIMULATED])
def test_before_one_inside_the_fallback_s_p99_is_kept_and_at_least_a_fifth_of_a_millisecond(kind):
    assert reserve_s(kind, 5.0, 0.003) == 0.003
    assert reserve_s(kind, 5.0, 0.0) == 0.0002


def test_extra_attempts_are_a_tenth_of_all_asks_after_the_float_is_used_up():
    extra = ExtraAttempts(share=0.1, at_most=2)
    taken = 0
    for _ in range(1000):
        extra.asked()
        taken += extra.take()
    assert 100 <= taken <= 102


def test_a_quiet_time_does_not_save_up_more_than_the_float():
    extra = ExtraAttempts(share=0.1, at_most=2)
    for _ in range(1000):
        extra.asked()
    assert [extra.take() for _ in range(3)] == [True, True, False]
