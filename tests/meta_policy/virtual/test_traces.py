from __future__ import annotations

import json

import numpy as np
import pytest

from meta_policy.presets import preset_of
from meta_policy.virtual.traces import Traces, assumed, lognormal
from tests.meta_policy.worlds import traces


def test_a_trace_comes_back_from_its_file(tmp_path):
    traces(near=[1.0, 2.5], far=[30.0]).save(tmp_path / "t.json")
    loaded = Traces.load(tmp_path / "t.json")
    assert loaded.latency_ms["near"].tolist() == [1.0, 2.5]
    assert loaded.source == "made up"


@pytest.mark.parametrize("bad", [[], [float("nan")], [-1.0]])
def test_latencies_that_cannot_be_are_refused_by_provider(tmp_path, bad):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"format": 1, "task": "t", "source": "s", "latency_ms": {"far": bad}}))
    with pytest.raises(ValueError, match="far"):
        Traces.load(path)


def test_another_format_is_refused(tmp_path):
    (tmp_path / "t.json").write_text('{"format": 2}')
    with pytest.raises(ValueError, match="format 2"):
        Traces.load(tmp_path / "t.json")


def test_drawn_latencies_have_the_quantiles_asked_for():
    ms = lognormal(np.random.default_rng(0), p50=1.5, p99=3.5, samples=200_000)
    assert np.quantile(ms, 0.5) == pytest.approx(1.5, rel=0.02)
    assert np.quantile(ms, 0.99) == pytest.approx(3.5, rel=0.02)


def test_a_dearer_source_of_the_shipped_mix_is_a_slower_one():
    told = assumed(preset_of("PerturbedHopper"))
    assert told.quantile("rule", 0.5) < told.quantile("medium", 0.5) < told.quantile("strong", 0.5)
