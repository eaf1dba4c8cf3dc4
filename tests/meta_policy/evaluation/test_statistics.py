import numpy as np
import pytest

from meta_policy.evaluation.statistics import (
    gain_interval,
    gain_recovered,
    interquartile_mean,
    match_share,
    nested_bootstrap,
    paired_difference,
    relative_difference,
)

RUN = {"never": [0.0, 2.0], "always_medium": [3.0, 3.0], "always_strong": [5.0, 5.0], "head": [4.0, 4.0]}


def test_gain_recovered_is_a_ratio_of_means_over_the_best_single_always():
    assert gain_recovered(RUN, "head") == pytest.approx((4 - 1) / (5 - 1))


def test_never_recovers_nothing_and_the_best_always_all():
    assert gain_recovered(RUN, "never") == 0.0
    assert gain_recovered(RUN, "always_strong") == 1.0


def test_gain_above_always_is_not_clipped():
    assert gain_recovered(RUN | {"head": [9.0, 9.0]}, "head") == pytest.approx(2.0)


def test_gain_needs_an_always():
    with pytest.raises(ValueError, match="always_"):
        gain_recovered({"never": [0.0], "head": [1.0]}, "head")


def test_gain_is_not_a_number_where_always_gains_nothing():
    assert np.isnan(gain_recovered({"never": [1.0], "always_a": [1.0], "head": [2.0]}, "head"))


def test_methods_with_other_episodes_cannot_be_paired():
    with pytest.raises(ValueError, match="same episodes"):
        gain_interval([1.0], [0.0, 1.0], [2.0, 3.0])


def test_interquartile_mean_of_fewer_than_four_is_the_mean():
    assert interquartile_mean([1.0, 2.0, 9.0]) == 4.0


def test_interquartile_mean_leaves_out_a_quarter_at_each_end():
    assert interquartile_mean([-100.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 500.0]) == 3.5


def test_a_paired_difference_without_noise_has_an_interval_without_width():
    # the episodes differ widely, the methods always by one: pairing takes the episodes out
    interval = paired_difference([10.0, 200.0, 3.0], [9.0, 199.0, 2.0])
    assert (interval.value, interval.low, interval.high) == (1.0, 1.0, 1.0)
    assert interval.excludes_zero


def test_an_interval_covers_the_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    hits = 0
    for trial in range(200):
        sample = rng.normal(3.0, 2.0, 60)
        interval = paired_difference(sample, np.zeros(60), level=0.9, resamples=400, seed=trial)
        hits += interval.low <= 3.0 <= interval.high
    assert 0.83 <= hits / 200 <= 0.96


def test_the_relative_difference_is_a_share_of_the_second():
    interval = relative_difference([11.0, 22.0, 33.0], [10.0, 20.0, 30.0])
    assert interval.value == pytest.approx(0.1)
    assert interval.inside(0.0999, 0.1001)


def test_a_bootstrap_resamples_the_same_episodes_for_every_method():
    never, always, head = [0.0, 10.0, 100.0], [2.0, 12.0, 102.0], [1.0, 11.0, 101.0]
    interval = gain_interval(head, never, always)
    assert interval.low == pytest.approx(0.5)
    assert interval.high == pytest.approx(0.5)


def test_the_nested_interval_spans_runs_that_disagree():
    def run(gain: float) -> dict[str, list[float]]:
        return {"never": [0.0] * 4, "always_a": [1.0] * 4, "head": [gain] * 4}

    interval = nested_bootstrap(lambda r: gain_recovered(r, "head"), [[run(0.4)], [run(0.8)]], resamples=400)
    assert interval.value == pytest.approx(0.6)
    assert interval.low == pytest.approx(0.4)
    assert interval.high == pytest.approx(0.8)


@pytest.mark.parametrize("target", [0.05, 0.18, 0.25, 0.7])
def test_a_share_is_matched_to_within_a_point(target: float):
    x, measured = match_share(lambda x: x**2, target)
    assert measured == pytest.approx(target, abs=0.01)
    assert x**2 == measured


def test_a_good_first_guess_needs_one_measurement():
    told = []
    match_share(lambda x: told.append(x) or x, 0.18, first=0.18)
    assert told == [0.18]


def test_an_unreachable_share_gives_the_nearest_try():
    x, measured = match_share(lambda x: 0.1 * x, 0.5)
    assert measured == pytest.approx(0.1, abs=0.001)
    assert x > 0.99
