"""Talks to a guidance broker: `GuidanceClient` for asyncio, `agents.client.sync.GuidanceClient` for plain
code.
"""

from agents.client.advice import Advice
from agents.client.aio import GuidanceClient
from agents.client.asks import Ended
from agents.client.backoff import Backoff
from agents.client.book import Arrival
from agents.client.channel import TlsFiles
from agents.client.constraints import Verdict
from agents.client.counts import Counts
from agents.client.errors import (
    CallFailed,
    ClientClosed,
    ConnectFailed,
    GuidanceError,
    LaneMisuse,
    SessionRefused,
    Status,
)
from agents.client.lane import Held
from agents.client.providers import ProviderSnapshot, ProviderTable, ProviderView
from agents.client.session import Session

__all__ = [
    "Advice",
    "Arrival",
    "Backoff",
    "CallFailed",
    "ClientClosed",
    "ConnectFailed",
    "Counts",
    "Ended",
    "GuidanceClient",
    "GuidanceError",
    "Held",
    "LaneMisuse",
    "ProviderSnapshot",
    "ProviderTable",
    "ProviderView",
    "Session",
    "SessionRefused",
    "Status",
    "TlsFiles",
    "Verdict",
]
