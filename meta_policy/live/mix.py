"""The broker configuration of a mix: a free rule, and executors behind simulated latencies and prices."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from agents.tasks.export import export_task
from meta_policy import places
from meta_policy.presets import Preset, Source

SERVER = """\
[server]
address = {address}
admin_address = {admin_address}
update_period_ms = 100

[ledger]
path = "ledger.sqlite3"

[log]
level = "warning"

[tasks.{task}]
folder = {folder}

[tasks.{task}.route]
strategy = "fixed"
providers = {providers}
"""

RULE = """
[[providers]]
id = {id}
kind = "rules"
price = {{ usd_per_leased_step = {usd} }}
"""

EXECUTOR = """
[[providers]]
id = {source_id}
kind = "policy"
file = {file}

[[providers]]
id = {id}
kind = "simulated"
wraps = {source_id}
seed = {seed}
price = {{ usd_per_leased_step = {usd} }}
latency = {{ distribution = "lognormal", p50_ms = {p50_ms}, p99_ms = {p99_ms} }}
"""


@dataclass(frozen=True, slots=True)
class MixFile:
    """A written configuration and what a client must know of it."""

    path: Path
    address: str
    admin_address: str


def write_mix(
    preset: Preset,
    executor_seed: int,
    folder: Path,
    ports: tuple[int, int],
    *,
    period_scale: float = 1.0,
    latency_scale: float = 1.0,
    seed: int = 0,
) -> MixFile:
    """Write `broker.toml` and the task's folder into `folder`; the scales stretch the control period and
    every latency. FileNotFoundError when an executor is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write_task(preset, folder / "task", period_scale)
    address, admin_address = (f"127.0.0.1:{port}" for port in ports)
    text = SERVER.format(
        address=_quoted(address),
        admin_address=_quoted(admin_address),
        task=_quoted(preset.task),
        folder=_quoted("task"),
        providers=json.dumps(list(preset.provider_ids)),
    )
    for index, source in enumerate(preset.sources):
        text += _source(preset, source, executor_seed, latency_scale, seed + index)
    path = folder / "broker.toml"
    path.write_text(text)
    return MixFile(path, address, admin_address)


def mix_name(preset: Preset) -> str:
    return "+".join(preset.provider_ids)


def _write_task(preset: Preset, folder: Path, period_scale: float) -> None:
    export_task(preset.task, folder)
    described = json.loads((folder / "task.json").read_text())
    described["period_us"] = round(described["period_us"] * period_scale)
    (folder / "task.json").write_text(json.dumps(described, indent=2) + "\n")


def _source(preset: Preset, source: Source, executor_seed: int, latency_scale: float, seed: int) -> str:
    if source.strength is None:
        return RULE.format(id=_quoted(source.provider_id), usd=float(source.usd_per_step))
    return EXECUTOR.format(
        id=_quoted(source.provider_id),
        source_id=_quoted(f"{source.provider_id}_source"),
        file=_quoted(str(places.executor(preset, executor_seed, source.strength).resolve())),
        seed=seed,
        usd=float(source.usd_per_step),
        p50_ms=source.p50_ms * latency_scale,
        p99_ms=source.p99_ms * latency_scale,
    )


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are among TOML's."""
    return json.dumps(text)
