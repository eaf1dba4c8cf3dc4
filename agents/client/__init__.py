"""Talks to a guidance broker: `GuidanceClient` for asyncio, `agents.client.sync.GuidanceClient` for plain
code.
"""

import os

# gRPC's own fork handlers crash one child in five while its aio layer is in use. Without them a child is
# sound, as long as it makes no gRPC call itself (see agents.client.relay). Read when gRPC is first imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

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
from agents.client.spaces import Schema, schema_of

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
    "Schema",
    "Session",
    "SessionRefused",
    "Status",
    "TlsFiles",
    "Verdict",
    "schema_of",
]
