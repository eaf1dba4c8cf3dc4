"""Structured logs: one JSON object a line on stderr. Nothing on the hot path is logged.

What a line may hold is decided here and not where it is written: scalars only, short ones, no value under a
key that names a secret or an observation, and of an exception its type and its place but never its text,
because texts of foreign libraries repeat URLs and headers.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, MutableMapping
from typing import Any, TextIO

import structlog

from broker import events
from broker.events import Event

Logger = structlog.typing.FilteringBoundLogger

MAX_TEXT = 300
_WITHHELD = ("token", "secret", "authorization", "password", "api_key", "observation", "prompt", "goal")
_PLACEHOLDER = "(withheld)"


def make_logger(level: str = "info", stream: TextIO | None = None) -> Logger:
    """A logger of its own; no global configuration is touched, so that a process may hold several."""
    logger: Logger = structlog.wrap_logger(
        structlog.WriteLogger(stream or sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            exception_without_text,
            scalars_only,
            structlog.processors.JSONRenderer(),
        ],
    )
    return logger


def exception_without_text(_: Any, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """``exc_info`` becomes the exception's type and the frames it came through."""
    given = line.pop("exc_info", None)
    error = sys.exc_info()[1] if given is True else given[1] if isinstance(given, tuple) else given
    if isinstance(error, BaseException):
        frames = traceback.extract_tb(error.__traceback__)[-5:]
        line["error"] = type(error).__name__
        line["at"] = " < ".join(f"{f.filename.rpartition('/')[2]}:{f.lineno}" for f in reversed(frames))
    return line


def scalars_only(_: Any, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Every value short and plain, or withheld."""
    return {key: _PLACEHOLDER if _withheld(key) else _plain(value) for key, value in line.items()}


def _withheld(key: str) -> bool:
    return any(word in key.lower() for word in _WITHHELD)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "…"
    if isinstance(value, list | tuple | set | frozenset) and all(isinstance(item, str) for item in value):
        return [_plain(item) for item in sorted(value)[:32]]
    if isinstance(value, BaseException):
        return type(value).__name__
    return f"({type(value).__name__})"


_LOGGED = frozenset(
    {
        events.SessionOpened,
        events.SessionClosed,
        events.ProviderStateChanged,
        events.Reloaded,
        events.LedgerFailed,
    }
)


class EventLog:
    """A listener that writes down what is rare and worth knowing the day after."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger

    def handler_for(self, kind: type) -> Callable[[Any], None] | None:
        """See :class:`broker.events.Events`: what every ask causes is not even looked at."""
        return self if kind in _LOGGED else None

    def __call__(self, event: Event) -> None:
        if isinstance(event, events.SessionOpened):
            self._logger.info("session_opened", tenant=event.tenant, lanes=event.lanes)
        elif isinstance(event, events.SessionClosed):
            self._logger.info("session_closed", tenant=event.tenant, lanes=event.lanes, why=event.why)
        elif isinstance(event, events.ProviderStateChanged):
            self._logger.info("provider_state", provider=event.provider_id, state=event.state.name)
        elif isinstance(event, events.Reloaded):
            self._reloaded(event)
        elif isinstance(event, events.LedgerFailed):
            self._logger.error("ledger_not_writable", effect="paid sources are refused, free ones serve")

    def _reloaded(self, event: events.Reloaded) -> None:
        if event.ok:
            self._logger.info("reloaded", config_generation=event.config_generation)
        else:
            self._logger.warning("reload_refused", config_generation=event.config_generation, why=event.why)
