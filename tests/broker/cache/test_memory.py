"""The exact cache: one tenant's answers, for a while, within a bound."""

import numpy as np
import pytest

from broker.cache.interface import CachedAnswer
from broker.cache.memory import MemoryCache
from broker.testing import ManualClock
from protos.types import ActionAdvice


def answer(provider: str = "llm", numbers: int = 1, clock: ManualClock | None = None) -> CachedAnswer:
    now = clock.now() if clock else 0.0
    return CachedAnswer(provider, ActionAdvice(np.zeros((1, numbers), np.float32)), 0.9, None, now)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def cache(clock) -> MemoryCache:
    return MemoryCache(clock, max_bytes=100_000, ttl_s=60.0)


def test_what_was_stored_is_found_under_its_key_only(cache):
    cache.put("acme", b"k", answer(), "hopper")
    assert cache.get("acme", b"k").provider_id == "llm"
    assert cache.get("acme", b"other") is None


def test_one_tenant_never_sees_the_others_answer(cache):
    cache.put("acme", b"k", answer(), "hopper")
    assert cache.get("other", b"k") is None


async def test_an_answer_ends_with_its_time_to_live(cache, clock):
    cache.put("acme", b"k", answer(), "hopper")
    await clock.advance(59.9)
    assert cache.get("acme", b"k") is not None
    await clock.advance(0.2)
    assert cache.get("acme", b"k") is None


def test_the_bound_is_in_bytes_and_the_least_recently_used_goes_first(cache):
    for index in range(20):
        cache.put("acme", bytes([index]), answer(numbers=2_000), "hopper")  # 8 kB each
        cache.get("acme", bytes([0]))
    assert cache.bytes_used <= 100_000
    assert cache.get("acme", bytes([0])) is not None
    assert cache.get("acme", bytes([1])) is None
    assert cache.get("acme", bytes([19])) is not None


def test_a_tenant_that_fills_its_cache_pushes_out_nobody_else(cache):
    cache.put("acme", b"k", answer(), "hopper")
    for index in range(50):
        cache.put("other", bytes([index]), answer(numbers=2_000), "hopper")
    assert cache.get("acme", b"k") is not None


def test_an_answer_larger_than_the_cache_is_not_stored_and_leaves_no_older_one(cache):
    cache.put("acme", b"k", answer(), "hopper")
    cache.put("acme", b"k", answer(numbers=50_000), "hopper")
    assert cache.get("acme", b"k") is None


def test_a_stored_answer_does_not_follow_the_array_it_came_from(cache):
    batch = np.zeros((4, 2), np.float32)
    cache.put("acme", b"k", CachedAnswer("llm", ActionAdvice(batch[1:2]), None, None, 0.0), "hopper")
    batch[:] = 7.0
    stored = cache.get("acme", b"k").guidance.actions
    assert (stored == 0.0).all()
    assert stored.base is None
    with pytest.raises(ValueError):
        stored[0, 0] = 1.0


@pytest.fixture
def filled(cache) -> MemoryCache:
    cache.put("acme", b"1", answer("llm"), "hopper")
    cache.put("acme", b"2", answer("planner"), "hopper")
    cache.put("acme", b"3", answer("llm"), "walker")
    cache.put("other", b"1", answer("llm"), "hopper")
    return cache


@pytest.mark.parametrize(
    ("what", "flushed", "left"),
    [
        ({}, 4, []),
        ({"tenant": "acme"}, 3, [("other", b"1")]),
        ({"task": "hopper"}, 3, [("acme", b"3")]),
        ({"provider_id": "planner"}, 1, [("acme", b"1"), ("acme", b"3"), ("other", b"1")]),
        ({"tenant": "acme", "task": "hopper", "provider_id": "llm"}, 1, [("acme", b"2"), ("acme", b"3")]),
        ({"tenant": "nobody"}, 0, [("acme", b"1")]),
    ],
)
def test_a_flush_drops_what_matches_and_nothing_else(filled, what, flushed, left):
    assert filled.flush(**what) == flushed
    for tenant, key in left:
        assert filled.get(tenant, key) is not None
    assert filled.flush() == 4 - flushed
