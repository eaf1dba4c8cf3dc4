"""Ids, clocks, back-off, the provider table, and what importing costs."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2

from agents.client import ProviderTable
from agents.client.backoff import Backoff
from agents.client.clocks import Clocks, with_clocks
from agents.client.errors import DETAILS_KEY, status_of
from agents.client.ids import AskIds
from protos.types import (
    AskOptions,
    GuidanceKind,
    LatencyQuantiles,
    Price,
    ProviderInfo,
    ProviderKind,
    ProviderState,
    ProviderUpdate,
)


def info(name: str, kind: ProviderKind = ProviderKind.POLICY, usd: float = 1.0) -> ProviderInfo:
    return ProviderInfo(name, kind, frozenset({GuidanceKind.ACTION}), Price(usd_per_ask=usd))


def test_ids_rise_by_one_and_fit_a_signed_column() -> None:
    ids = AskIds()
    first, second = ids.take(2)
    assert second == first + 1
    assert ids.take(1) == [second + 1]
    assert 0 < first < 2**63


def test_two_clients_draw_from_different_parts() -> None:
    firsts = {AskIds().take(1)[0] >> 32 for _ in range(50)}
    assert len(firsts) == 50


def test_a_forked_child_draws_its_own_part(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = AskIds()
    parent = ids.take(1)[0]
    monkeypatch.setattr("agents.client.ids.os.getpid", lambda: -5)
    assert ids.take(1)[0] >> 32 != parent >> 32


def test_back_off_grows_to_its_limit_within_its_jitter() -> None:
    backoff, source = Backoff(initial_s=0.1, factor=2.0, max_s=1.0, jitter=0.2), random.Random(0)
    for attempt, plain in enumerate([0.1, 0.2, 0.4, 0.8, 1.0, 1.0]):
        assert 0.8 * plain <= backoff.delay_s(attempt, source) <= 1.2 * plain
    assert backoff.delay_s(10**6, source) <= 1.2


@pytest.mark.parametrize(
    ("kind", "final_ms"),
    [
        (ProviderKind.RULES, 5_000),
        (ProviderKind.POLICY, 5_000),
        (ProviderKind.PLANNER, 10_000),
        (ProviderKind.LLM, 60_000),
        (ProviderKind.HUMAN, 300_000),
    ],
)
def test_the_final_clock_fits_the_kind_of_source(kind: ProviderKind, final_ms: int) -> None:
    clocked = with_clocks(AskOptions(), info("p", kind))
    assert (clocked.first_answer_by_ms, clocked.final_by_ms) == (5_000, final_ms)


def test_clocks_that_are_given_are_kept_and_the_object_with_them() -> None:
    options = AskOptions(first_answer_by_ms=1, final_by_ms=2)
    assert with_clocks(options, None) is options


def test_the_same_options_are_clocked_once() -> None:
    clocks, options, source = Clocks(), AskOptions(), info("p")
    assert clocks.set(options, source) is clocks.set(options, source)


def test_the_table_takes_the_newer_configuration_and_ignores_the_older() -> None:
    table = ProviderTable()
    table.replace_all([info("a"), info("b")], generation=3)
    cheap = Price(usd_per_ask=0.5)
    table.update(ProviderUpdate("a", ProviderState.READY, price=cheap, config_generation=3))
    table.update(ProviderUpdate("a", ProviderState.OPEN, config_generation=2))
    assert table.get("a").price.usd_per_ask == 0.5
    assert table.get("a").ready
    table.update(ProviderUpdate("b", ProviderState.REMOVED, config_generation=4))
    assert [view.provider_id for view in table] == ["a"]
    table.update(ProviderUpdate("c", ProviderState.READY, config_generation=4, info=info("c")))
    assert table.ids == ("a", "c")
    assert table.generation == 4


def test_a_snapshot_has_a_row_a_provider_in_the_order_asked_for() -> None:
    table = ProviderTable()
    table.replace_all([info("a", usd=1.0), info("b", usd=2.0)], generation=1)
    latency = LatencyQuantiles(1.0, 2.0, 3.0, 40)
    table.update(ProviderUpdate("b", ProviderState.READY, latency=latency, config_generation=1, queued=4))
    snapshot = table.snapshot(["b", "a"])
    assert snapshot.p99_ms.tolist() == [3.0, 0.0]
    assert snapshot.samples.tolist() == [40, 0]
    assert snapshot.queued.tolist() == [4, 0]
    assert snapshot.usd_per_ask.tolist() == [0.0, 1.0]  # the live price is the one that counts


def test_reason_and_retry_hint_are_read_from_the_rich_status() -> None:
    details = [Any(), Any()]
    details[0].Pack(error_details_pb2.ErrorInfo(reason="OVER_BUDGET", domain="guidance.v1"))
    details[1].Pack(error_details_pb2.RetryInfo(retry_delay=Duration(nanos=250_000_000)))
    rich = status_pb2.Status(code=8, message="m", details=details).SerializeToString()
    status = status_of(grpc.StatusCode.RESOURCE_EXHAUSTED, "m", [(DETAILS_KEY, rich)])
    assert (status.reason, status.retry_after_ms) == ("OVER_BUDGET", 250)
    assert not status.final


def test_whoever_was_superseded_does_not_fight_for_its_place() -> None:
    detail = Any()
    detail.Pack(error_details_pb2.ErrorInfo(reason="SUPERSEDED"))
    rich = status_pb2.Status(code=14, details=[detail]).SerializeToString()
    assert status_of(grpc.StatusCode.UNAVAILABLE, "", [(DETAILS_KEY, rich)]).final
    assert not status_of(grpc.StatusCode.UNAVAILABLE, "", None).final


def test_importing_the_client_imports_neither_torch_nor_gymnasium() -> None:
    code = "import sys, agents.client.sync; print({'torch', 'gymnasium', 'mujoco'} & set(sys.modules))"
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
