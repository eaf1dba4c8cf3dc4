"""What a log line may hold."""

import io
import json

import numpy as np
import pytest

from broker import events
from broker.running.log import EventLog, make_logger
from protos.types import AskOutcome, ProviderState


class Written:
    """A logger and the lines it wrote."""

    def __init__(self, level: str = "debug") -> None:
        self._stream = io.StringIO()
        self.logger = make_logger(level, self._stream)

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    @property
    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.text.splitlines()]


def test_a_line_is_one_json_object_with_its_level_and_time():
    written = Written()
    written.logger.info("started", port=50051)
    (line,) = written.lines
    assert (line["event"], line["level"], line["port"]) == ("started", "info", 50051)
    assert line["timestamp"].endswith("Z")


def test_what_is_below_the_level_is_not_written():
    written = Written("warning")
    written.logger.info("quiet")
    written.logger.warning("loud")
    assert [line["event"] for line in written.lines] == ["loud"]


@pytest.mark.parametrize(
    "key",
    [
        "token",
        "auth_token",
        "secret",
        "Authorization",
        "password",
        "api_key",
        "observation",
        "prompt",
        "goal_text",
    ],
)
def test_a_value_under_a_key_that_names_a_secret_is_withheld(key):
    written = Written()
    written.logger.info("call", **{key: "SENTINEL"})
    assert "SENTINEL" not in written.text


@pytest.mark.parametrize(
    "value",
    [np.array([12345.0]), {"nested": "SENTINEL"}, b"SENTINEL", ValueError("SENTINEL"), [["SENTINEL"]]],
)
def test_a_value_that_is_no_scalar_is_named_by_its_type_only(value):
    written = Written()
    written.logger.info("call", value=value)
    assert "SENTINEL" not in written.text
    assert "12345" not in written.text


def test_a_long_text_is_cut():
    written = Written()
    written.logger.info("call", text="x" * 10_000)
    assert len(written.text) < 600


def test_an_exception_is_told_by_type_and_place_even_at_debug():
    written = Written("debug")
    try:
        raise ConnectionError("https://host/?key=SENTINEL")
    except ConnectionError:
        written.logger.exception("call_failed")
    (line,) = written.lines
    assert line["error"] == "ConnectionError"
    assert "test_log.py:" in line["at"]
    assert "SENTINEL" not in written.text


def test_two_loggers_of_one_process_do_not_share_their_stream():
    first, second = Written(), Written()
    first.logger.info("first")
    assert second.text == ""


def test_the_days_events_are_written_and_the_hot_path_is_not():
    written = Written("debug")
    log = EventLog(written.logger)
    log(events.AskReceived("acme", "hopper"))
    log(events.AskEnded("acme", "hopper", AskOutcome.ANSWERED, "rule", 0.001))
    log(events.SessionOpened("acme", 8))
    log(events.ProviderStateChanged("rule", ProviderState.READY))
    log(events.Reloaded(ok=False, config_generation=3))
    log(events.LedgerFailed())
    told = [(line["event"], line["level"]) for line in written.lines]
    assert told == [
        ("session_opened", "info"),
        ("provider_state", "info"),
        ("reload_refused", "warning"),
        ("ledger_not_writable", "error"),
    ]
