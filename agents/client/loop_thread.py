"""One event loop on a thread of its own, for callers without a loop. A forked child gets a new one."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from agents.client.forked import abandon

T = TypeVar("T")


class LoopThread:
    """Starts at the first call. Exceptions come back to the caller as they were raised."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._running()).result()

    def call(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Wait for a function that does not await. Cheaper than `run`: no task is made."""
        result: Future[T] = Future()

        def call() -> None:
            try:
                result.set_result(function(*args, **kwargs))
            except BaseException as error:
                result.set_exception(error)

        self._running().call_soon_threadsafe(call)
        return result.result()

    def stop(self) -> None:
        if self._loop is None or self._pid != os.getpid():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        if self._thread is not None:
            self._thread.join()
        self._loop.close()
        self._loop = None

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None or self._pid != os.getpid():
            abandon(self._loop, self._thread)  # after a fork they are the parent's
            self._loop = asyncio.new_event_loop()
            self._pid = os.getpid()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="guidance-client", daemon=True
            )
            self._thread.start()
        return self._loop
