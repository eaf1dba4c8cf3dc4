"""The end of a broker: nothing new begins, what runs may finish within the grace, streams end cleanly."""

from __future__ import annotations

import asyncio
import contextlib

import grpc

from broker.asks.admission import Admission
from broker.sessions.table import OpenSession, SessionTable

LAST_S = 0.25  # of the grace: for what was answered last to be written


async def drain(
    server: grpc.aio.Server, sessions: SessionTable, admission: Admission, grace_s: float
) -> None:
    """Returns when every call has ended, at the latest shortly after ``grace_s`` seconds."""
    admission.draining = sessions.draining = True
    ending = asyncio.create_task(_end_sessions(sessions, max(0.0, grace_s - LAST_S)))
    await server.stop(grace_s)
    await ending


async def _end_sessions(sessions: SessionTable, grace_s: float) -> None:
    await asyncio.gather(*(_end(sessions, opened, grace_s) for opened in sessions))


async def _end(sessions: SessionTable, opened: OpenSession, grace_s: float) -> None:
    """An idle session ends at once, another when its asks have ended or its time is up."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace_s):
            await opened.session.finished()
    sessions.close(opened, "drained")
