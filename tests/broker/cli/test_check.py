"""`guidance-broker check`: what an operator is told about a file."""

from pathlib import Path

import pytest

from broker.__main__ import main
from broker.cli.table import aligned, usd

ROOT = Path(__file__).resolve().parents[3]

GOOD = """
[tenants.acme]
budget_usd = 2.5

[[auth.tokens]]
name = "agents"
token = "env:CHECKED_TOKEN"
tenant = "acme"
roles = ["agent"]

[[providers]]
id = "rule"
kind = "simulated"
answer = [0.0]
price = { usd_per_ask = 0.0002 }

[tasks.hopper.route]
strategy = "fixed"
providers = ["rule"]
"""


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "broker.toml"
    path.write_text(GOOD)
    return path


def test_a_valid_file_is_described(file, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("CHECKED_TOKEN", "SENTINEL")
    assert main(["check", str(file)]) == 0
    told = capsys.readouterr().out
    for part in ("127.0.0.1:50051", "agents (acme: agent)", "rule", "0.0002", "hopper", "fixed", "is valid"):
        assert part in told
    assert "SENTINEL" not in told


def test_every_problem_is_told_and_the_status_is_not_zero(file, capsys):
    file.write_text(GOOD.replace("usd_per_ask", "usd_per_asks").replace("budget_usd = 2.5", "budget = 2.5"))
    assert main(["check", str(file)]) == 1
    told = capsys.readouterr()
    assert f"{file}: tenants.acme.budget: unknown key (nearest valid key: budget_usd)" in told.err
    assert (
        f"{file}: providers[0].price.usd_per_asks: unknown key (nearest valid key: usd_per_ask)" in told.err
    )
    assert "environment variable CHECKED_TOKEN is not set" in told.err
    assert "3 problems" in told.err
    assert told.out == ""


def test_a_task_folder_that_is_none_is_told(file, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CHECKED_TOKEN", "t")
    (tmp_path / "empty").mkdir()
    file.write_text(
        GOOD + '[tasks.walker]\nfolder = "empty"\nroute = { strategy = "fixed", providers = ["rule"] }'
    )
    assert main(["check", str(file)]) == 1
    assert "tasks.walker.folder" in capsys.readouterr().err


def test_the_shipped_configuration_says_what_it_ships(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["check", str(ROOT / "deploy" / "broker.toml")]) == 0
    told = capsys.readouterr().out
    for part in ("rule", "medium", "0.0002", "strong", "0.001", "guidance/PerturbedHopper-v0"):
        assert part in told


def test_tables_without_rich_are_aligned():
    assert aligned([("id", "price"), ("strong", "1"), ("a", "22")]) == [
        "id      price",
        "strong  1",
        "a       22",
    ]


@pytest.mark.parametrize(
    ("amount", "text"), [(0.0002, "0.0002"), (0.0, "0"), (100.0, "100"), (1e-7, "0.0000001")]
)
def test_small_amounts_keep_their_digits(amount, text):
    assert usd(amount) == text
