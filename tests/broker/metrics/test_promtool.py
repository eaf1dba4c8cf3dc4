"""Prometheus' own judgement of what we expose and ship."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.broker.metrics.test_counts import metrics, one_of_each

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.services


def promtool(*arguments: str, given: bytes = b"") -> str:
    """What promtool says; it must succeed."""
    done = subprocess.run(["promtool", *arguments], input=given, capture_output=True, check=False)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    return said


def test_the_metrics_pass_promtool():
    listener = metrics()
    for event in one_of_each():
        listener(event)
    assert promtool("check", "metrics", given=listener.exposition()) == ""


def test_the_shipped_prometheus_configuration_is_valid(tmp_path):
    shutil.copy(ROOT / "deploy" / "prometheus" / "prometheus.yml", tmp_path)
    (tmp_path / "guidance-token").write_text("a token")
    assert "SUCCESS" in promtool("check", "config", str(tmp_path / "prometheus.yml"))
