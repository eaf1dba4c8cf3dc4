from __future__ import annotations

import json
from pathlib import Path

import pytest

from broker.config import load
from broker.providers.registry import PROVIDER_SETTINGS
from broker.routing.registry import ROUTE_SETTINGS
from meta_policy import places
from meta_policy.live.mix import mix_name, write_mix
from meta_policy.presets import PRESETS, preset_of

HOPPER = preset_of("PerturbedHopper")


@pytest.fixture(autouse=True)
def some_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / 'a "policy".safetensors'
    file.write_bytes(b"")
    monkeypatch.setattr(places, "executor", lambda preset, seed, strength: file)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.short_name)
def test_the_broker_reads_what_is_written(preset, tmp_path: Path):
    file = write_mix(preset, 1, tmp_path, (50051, 9464))
    config = load(file.path, PROVIDER_SETTINGS, ROUTE_SETTINGS, {})
    assert (config.server.address, config.server.admin_address) == (file.address, file.admin_address)
    assert config.tasks[preset.task].route.providers == preset.provider_ids
    for source in preset.sources:
        assert config.provider(source.provider_id).price.usd_per_leased_step == source.usd_per_step


def test_latencies_and_the_control_period_stretch(tmp_path: Path):
    file = write_mix(HOPPER, 1, tmp_path, (1, 2), period_scale=1.5, latency_scale=2.0)
    strong = load(file.path, PROVIDER_SETTINGS, ROUTE_SETTINGS, {}).provider("strong")
    assert (strong.latency.p50_ms, strong.latency.p99_ms) == (3.0, 7.0)
    assert json.loads((tmp_path / "task" / "task.json").read_text())["period_us"] == 12_000


def test_a_mix_is_named_by_its_sources():
    assert mix_name(HOPPER) == "rule+medium+strong"


def test_a_missing_executor_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError, match=r"seed77/medium\.safetensors"):
        write_mix(HOPPER, 77, tmp_path, (1, 2))
