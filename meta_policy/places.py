"""Where committed artefacts lie: executors, heads, traces, results."""

from __future__ import annotations

from pathlib import Path

from meta_policy.presets import Preset


def root() -> Path:
    """The checkout this package is part of, or the current folder when it was installed away from one."""
    checkout = Path(__file__).resolve().parent.parent
    return checkout if (checkout / "artifacts").is_dir() else Path.cwd()


def executor(preset: Preset, seed: int, strength: str) -> Path:
    """The policy file of an executor; FileNotFoundError says how to make one."""
    path = executors(preset, seed) / f"{strength}.safetensors"
    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: no such policy file; train one with guidance-agent train and export it"
        )
    return path


def executors(preset: Preset, seed: int) -> Path:
    return root() / "artifacts" / "executors" / preset.short_name / f"seed{seed}"


def heads(preset: Preset, executor_seed: int) -> dict[int, Path]:
    """The committed heads of one executor, by head seed."""
    folder = root() / "artifacts" / "heads" / preset.short_name / f"executor{executor_seed}"
    return {int(path.stem.removeprefix("head")): path for path in sorted(folder.glob("head*.safetensors"))}


def points(preset: Preset) -> Path:
    """Operating points, chosen on validation seeds."""
    return root() / "artifacts" / "heads" / preset.short_name / "points.json"


def traces(preset: Preset, period_ms: float) -> Path:
    """Latencies recorded at one control period."""
    return root() / "artifacts" / "traces" / preset.short_name / f"{period_ms:g}ms.json"


def frontier() -> Path:
    """The committed comparison against a live broker."""
    return root() / "docs" / "results" / "live" / "frontier.json"
