"""The operator's commands against a real broker in a process of its own."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from broker.__main__ import main
from broker.ledger import Ledger
from broker.testing import ManualClock

TEXT = """
[server]
address = "127.0.0.1:{port}"
admin_address = "127.0.0.1:{admin}"

[ledger]
path = "ledger.sqlite3"

[tenants.acme]
budget_usd = 2.5

[[auth.tokens]]
name = "operators"
token = "env:ADMIN_TOKEN"
tenant = "acme"
roles = ["admin"]

[[providers]]
id = "strong"
kind = "simulated"
answer = [0.0]
price = {{ usd_per_leased_step = 0.001 }}

[tasks.hopper.route]
strategy = "fixed"
providers = ["strong"]
"""
SECOND = '[[providers]]\nid = "second"\nkind = "simulated"\nanswer = [1.0]\n'


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Running:
    def __init__(self, folder: Path) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self.config = folder / "broker.toml"
        self.text = TEXT.format(port=self.address.rpartition(":")[2], admin=free_port())
        self.config.write_text(self.text)
        spent = Ledger(ManualClock(), lambda event: None, str(folder / "ledger.sqlite3"))
        spent.settle(spent.reserve("acme", "strong", 0.25, ttl_s=1), 0.25)
        spent.close()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "broker", "serve", str(self.config)],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "ADMIN_TOKEN": "let-me-in"},
        )
        with grpc.insecure_channel(self.address) as channel:
            grpc.channel_ready_future(channel).result(timeout=60)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0, self.process.stderr.read()
        self.process.stderr.close()


@pytest.fixture(scope="module")
def broker(tmp_path_factory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("operating"))
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def terminal(monkeypatch) -> None:
    """An operator with a token, at a screen on which no cell is folded."""
    monkeypatch.setenv("GUIDANCE_TOKEN", "let-me-in")
    monkeypatch.setenv("COLUMNS", "200")


def cells(told: str, first: str) -> list[str]:
    """The cells of the table row that starts with `first`."""
    (line,) = [line for line in told.splitlines() if line.split()[:1] == [first]]
    return re.split(r"\s{2,}", line.strip())


def test_providers_are_listed_with_state_and_price(broker, capsys):
    assert main(["providers", "--address", broker.address]) == 0
    row = cells(capsys.readouterr().out, "strong")
    assert row[:3] == ["strong", "simulated", "ready"]
    assert "0.001" in row


def test_the_ledger_of_a_running_broker_is_asked_for(broker, capsys):
    assert main(["ledger", "--address", broker.address]) == 0
    told = capsys.readouterr().out
    assert cells(told, "acme") == ["acme", "strong", "1", "0.25", "0", "0", "2.5"]
    assert "charged in all: 0.25 USD" in told


def test_the_file_of_a_running_broker_is_not_read_behind_its_back(broker, capsys, monkeypatch):
    monkeypatch.setenv("ADMIN_TOKEN", "let-me-in")
    assert main(["ledger", "--config", str(broker.config)]) == 1
    assert "in use by a running broker; ask the broker instead: --address" in capsys.readouterr().err


def test_a_reload_says_what_changed_and_a_refused_one_why(broker, capsys):
    broker.config.write_text(broker.text + SECOND)
    assert main(["reload", "--address", broker.address]) == 0
    told = capsys.readouterr().out
    assert "configuration 2 is served" in told
    assert "added: second" in told
    broker.config.write_text(broker.text + SECOND + "timeout = 800")
    assert main(["reload", "--address", broker.address]) == 1
    assert "providers[1].timeout: unknown key (nearest valid key: timeout_ms)" in capsys.readouterr().err
    assert main(["providers", "--address", broker.address]) == 0
    told = capsys.readouterr().out
    assert "configuration 2" in told
    assert cells(told, "second")[2] == "ready"


@pytest.mark.parametrize("command", ["providers", "ledger", "reload"])
def test_without_a_token_the_variable_is_named_and_a_wrong_one_is_not_repeated(
    broker, command, monkeypatch, capsys
):
    monkeypatch.setenv("GUIDANCE_TOKEN", "SENTINEL")
    assert main([command, "--address", broker.address]) == 1
    told = capsys.readouterr().err
    assert "a valid bearer token is required; give it in the variable GUIDANCE_TOKEN" in told
    assert "SENTINEL" not in told


@pytest.mark.parametrize("command", ["providers", "ledger", "reload"])
def test_nobody_at_the_address_is_told_in_words(command, capsys):
    assert main([command, "--address", f"127.0.0.1:{free_port()}"]) == 1
    assert "no broker answers there" in capsys.readouterr().err


def test_the_ledger_of_a_stopped_broker_is_read_from_its_file(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ADMIN_TOKEN", "let-me-in")
    config = tmp_path / "broker.toml"
    config.write_text(TEXT.format(port=1, admin=2))
    assert main(["ledger", "--config", str(config)]) == 1
    assert "nothing was ever booked there" in capsys.readouterr().err
    spent = Ledger(ManualClock(), lambda event: None, str(tmp_path / "ledger.sqlite3"))
    spent.settle(spent.reserve("acme", "strong", 0.5, ttl_s=1), 0.0002)
    spent.close()
    assert main(["ledger", "--config", str(config)]) == 0
    assert cells(capsys.readouterr().out, "acme") == ["acme", "strong", "1", "0.0002", "0", "0", "2.5"]
