import itertools

import pytest

from meta_policy import seeds


def test_no_episode_serves_two_purposes():
    ranges = [seeds.TRAINING, seeds.VALIDATION, seeds.TEST, seeds.RECORDING]
    for a, b in itertools.combinations(ranges, 2):
        assert a.stop <= b.start or b.stop <= a.start


def test_the_first_episodes_are_always_the_same():
    assert seeds.first(seeds.TEST, 3) == [20_000_000, 20_000_001, 20_000_002]


def test_more_episodes_than_seeds_are_refused():
    with pytest.raises(ValueError, match="1000"):
        seeds.first(seeds.TEST, 1001)
