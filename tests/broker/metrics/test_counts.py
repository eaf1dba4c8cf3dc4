"""Counts that add up (whatever becomes of an ask), and buckets that can show the value."""

import random
from itertools import pairwise

import pytest
from prometheus_client.parser import text_string_to_metric_families

from broker import events
from broker.metrics import Metrics
from broker.metrics.series import SECONDS_BUCKETS
from broker.outcomes import AttemptOutcome
from protos.types import AskOutcome, CacheStatus, ProviderState


def metrics() -> Metrics:
    return Metrics(["acme"], ["hopper"], ["rule", "llm", "human"])


def scraped(exposition: bytes) -> dict[tuple[str, ...], float]:
    """Every sample, by its name and its label values in the order of the label names."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(exposition.decode())
        for sample in family.samples
    }


MIXED = {
    AskOutcome.ANSWERED: 600,
    AskOutcome.CANCELLED: 100,
    AskOutcome.DEADLINE: 100,
    AskOutcome.DEGRADED: 100,
    AskOutcome.CALLER_FAULT: 100,
}


def test_received_is_the_sum_of_outcomes_and_nothing_stays_in_flight():
    listener = metrics()
    ends = [outcome for outcome, count in MIXED.items() for _ in range(count)]
    random.Random(0).shuffle(ends)
    for number, _ in enumerate(ends, start=1):
        listener(events.AskReceived("acme", "hopper"))
        assert listener.asks.in_flight.value() == number
    for outcome in ends:
        listener(events.AskEnded("acme", "hopper", outcome, "rule", 0.0003))
        assert listener.asks.in_flight.value() >= 0
    samples = scraped(listener.exposition())
    ended = {
        outcome: samples[("guidance_asks_ended_total", outcome.name.lower(), "hopper", "acme")]
        for outcome in MIXED
    }
    assert ended == MIXED
    assert samples[("guidance_asks_received_total", "hopper", "acme")] == sum(ended.values()) == 1000
    assert samples[("guidance_asks_in_flight",)] == 0
    assert samples[("guidance_ask_first_answer_seconds_count", "rule")] == 1000


def test_rows_of_a_message_count_each():
    listener = metrics()
    listener(events.AskReceived("acme", "hopper", rows=256))
    listener(events.AskEnded("acme", "hopper", AskOutcome.ANSWERED, "rule", 0.002, rows=256))
    samples = scraped(listener.exposition())
    assert samples[("guidance_asks_received_total", "hopper", "acme")] == 256
    assert samples[("guidance_ask_first_answer_seconds_count", "rule")] == 256
    assert samples[("guidance_ask_first_answer_seconds_sum", "rule")] == pytest.approx(0.512)


def test_there_are_at_most_20_buckets_from_a_rule_to_a_person():
    assert len(SECONDS_BUCKETS) <= 20
    assert SECONDS_BUCKETS[0] <= 0.0003
    assert SECONDS_BUCKETS[-1] >= 120.0
    assert {0.008, 0.05, 5.0} <= set(SECONDS_BUCKETS), "control steps and the first clock are boundaries"


def median(samples: dict[tuple[str, ...], float], provider: str) -> float:
    """As histogram_quantile(0.5, ...): linear within the bucket that holds the middle."""
    middle = samples[("guidance_ask_first_answer_seconds_count", provider)] / 2
    low, below = 0.0, 0.0
    for bound in SECONDS_BUCKETS:
        count = samples[("guidance_ask_first_answer_seconds_bucket", str(bound), provider)]
        if count >= middle:
            return low + (bound - low) * (middle - below) / (count - below)
        low, below = bound, count
    raise AssertionError(f"{provider} fell beyond the last finite bucket")


@pytest.mark.parametrize(("provider", "seconds"), [("rule", 0.0003), ("llm", 25.0), ("human", 120.0)])
@pytest.mark.parametrize("spread", [1.0, 1.0001, 0.9999, 1.2, 0.8])
def test_a_median_read_from_the_buckets_is_within_a_factor_of_two(provider, seconds, spread):
    listener = metrics()
    for _ in range(100):
        listener(events.AskEnded("acme", "hopper", AskOutcome.ANSWERED, provider, seconds * spread))
    estimate = median(scraped(listener.exposition()), provider)
    assert 0.5 <= estimate / (seconds * spread) <= 2.0


def test_wherever_a_value_lies_its_median_is_within_a_factor_of_two():
    for low, high in pairwise(SECONDS_BUCKETS):
        assert (low + high) / 2 <= 2 * low
        assert (low + high) / 2 >= high / 2


def test_names_that_are_not_configured_make_no_series():
    listener = metrics()
    for number in range(1000):
        listener(events.AskReceived(f"tenant{number}", f"task{number}"))
        listener(events.AskEnded("acme", "hopper", AskOutcome.NONE, f"source{number}", 0.1))
        listener(events.InvalidInput(f"REASON_{number}"))
    samples = scraped(listener.exposition())
    assert samples[("guidance_asks_received_total", "other", "other")] == 1000
    assert samples[("guidance_ask_first_answer_seconds_count", "other")] == 1000
    reasons = [key for key in samples if key[0] == "guidance_invalid_inputs_total"]
    assert len(reasons) <= 65


def test_a_reload_brings_new_names_and_keeps_the_old_counts():
    listener = metrics()
    listener(events.AttemptEnded("rule", AttemptOutcome.OK, 0.001))
    listener.know(["acme"], ["hopper"], ["planner"])
    listener(events.AttemptEnded("planner", AttemptOutcome.OK, 0.001))
    samples = scraped(listener.exposition())
    assert samples[("guidance_attempts_total", "ok", "rule")] == 1
    assert samples[("guidance_attempts_total", "ok", "planner")] == 1


def test_money_and_attempts_are_told():
    listener = metrics()
    listener(events.AttemptStarted("llm"))
    listener(events.AttemptStarted("llm"))
    listener(events.AttemptEnded("llm", AttemptOutcome.OK, 0.2, rows=3))
    listener(events.Charged("acme", "llm", 0.004))
    listener(events.Charged("acme", "llm", 0.004))
    listener(events.Saved("acme", "llm", 0.036))
    listener(events.CacheLookedUp("llm", CacheStatus.HIT, rows=9))
    samples = scraped(listener.exposition())
    assert samples[("guidance_attempts_in_flight", "llm")] == 1
    assert samples[("guidance_attempt_rows_total", "llm")] == 3
    assert samples[("guidance_charged_usd_total", "llm", "acme")] == pytest.approx(0.008)
    assert samples[("guidance_saved_usd_total", "llm", "acme")] == pytest.approx(0.036)
    assert samples[("guidance_cache_lookups_total", "llm", "hit")] == 9


def test_a_source_is_in_one_state():
    listener = metrics()
    listener(events.ProviderStateChanged("rule", ProviderState.LOADING))
    listener(events.ProviderStateChanged("rule", ProviderState.READY))
    states = {k[2]: v for k, v in scraped(listener.exposition()).items() if k[0] == "guidance_provider_state"}
    assert states["ready"] == 1
    assert sum(states.values()) == 1


def test_sessions_and_lanes_go_back_to_zero():
    listener = metrics()
    for _ in range(3):
        listener(events.SessionOpened("acme", lanes=8))
    for _ in range(3):
        listener(events.SessionClosed("acme", lanes=8, why="client"))
    samples = scraped(listener.exposition())
    assert samples[("guidance_sessions", "acme")] == samples[("guidance_lanes", "acme")] == 0
    assert samples[("guidance_sessions_closed_total", "client", "acme")] == 3


def one_of_each() -> list[events.Event]:
    return [
        events.AskReceived("acme", "hopper"),
        events.AskEnded("acme", "hopper", AskOutcome.ANSWERED, "rule", 0.1),
        events.LeaseStepServed("rule", AttemptOutcome.OK, 0.001),
        events.LateAnswerSent("CORRECTION", "llm"),
        events.AttemptStarted("rule"),
        events.AttemptEnded("rule", AttemptOutcome.OK, 0.1),
        events.CacheLookedUp("llm", CacheStatus.MISS),
        events.Charged("acme", "llm", 0.1),
        events.Saved("acme", "llm", 0.1),
        events.UsageDoubted("llm"),
        events.LedgerFailed(),
        events.InvalidInput("INVALID_REQUEST"),
        events.AnswerDropped("episode_over"),
        events.UpdatesDropped(3),
        events.SessionOpened("acme", 8),
        events.SessionClosed("acme", 8, "client"),
        events.OutcomeReported("rule", used=True),
        events.ProviderStateChanged("rule", ProviderState.READY),
        events.Reloaded(ok=False, config_generation=1),
        events.LoopLagged(0.001),
    ]


def test_every_event_moves_a_metric():
    assert {type(event) for event in one_of_each()} == set(events.Event.__args__)
    for event in one_of_each():
        listener = metrics()
        before = scraped(listener.exposition())
        listener(event)
        after = scraped(listener.exposition())
        changed = {key[0] for key in after if after[key] != before.get(key) and key[0].startswith("guidance")}
        assert changed, f"{type(event).__name__} moved nothing"


def test_two_brokers_in_one_process_count_apart():
    first, second = metrics(), metrics()
    first(events.AskReceived("acme", "hopper"))
    assert scraped(second.exposition())[("guidance_asks_in_flight",)] == 0


def test_the_exposition_speaks_of_seconds_and_of_no_milliseconds():
    listener = metrics()
    for event in one_of_each():
        listener(event)
    names = {family.name for family in text_string_to_metric_families(listener.exposition().decode())}
    assert all(name.startswith(("guidance_", "process_")) for name in names)
    assert not [name for name in names if name.endswith(("_ms", "_us", "_milliseconds"))]
