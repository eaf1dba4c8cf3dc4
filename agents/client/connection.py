"""Keeps one session alive: dials the addresses in turn, reads and writes its stream, and comes back after an
outage.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from time import monotonic
from typing import Protocol

import grpc

from agents.client.backoff import Backoff
from agents.client.channel import KEEPALIVE_TIMEOUT_MS, Call, CallEnded, Dial, Link
from agents.client.errors import ConnectFailed, GuidanceError, SessionRefused, Status
from agents.client.forked import abandon
from agents.client.outbox import Outbox
from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import Welcome

ATTEMPT_S = 3.0
"""How long one address may take to say welcome before the next is tried."""
CLOSE_S = 1.0

MakeLink = Callable[[str, Dial], Link]


class Handler(Protocol):
    """What the session does when its stream comes, speaks and goes."""

    def up(self, welcome: Welcome) -> None: ...

    def take(self, message: pb.SessionResponse) -> None: ...

    def down(self, status: Status) -> None: ...


class Connection:
    """`open` once, `close` once; in between it is up or on its way back up. Lives on the loop's thread."""

    def __init__(
        self,
        dial: Dial,
        make_link: MakeLink,
        hello: pb.Hello,
        handler: Handler,
        outbox: Outbox,
        backoff: Backoff,
    ) -> None:
        self.up = False
        self.status = Status(grpc.StatusCode.UNAVAILABLE, "not connected yet")
        self.refused = False
        self._dial = dial
        self._make_link = make_link
        self._hello = hello
        self._handler = handler
        self._outbox = outbox
        self._backoff = backoff
        self._random = random.Random()
        self._next_address = 0
        self._heard_at = monotonic()
        self._awaited: asyncio.Future[None] | None = None
        self._flushed = asyncio.Event()
        self._changed: asyncio.Future[None] | None = None
        self._ready: asyncio.Future[None] | None = None
        self._stream: Call | None = None
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Something was put into the outbox."""
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_result(None)

    def silence_s(self) -> float:
        """For how long the broker has not been heard: 0 while the stream stands, which keepalive watches
        over.
        """
        return 0.0 if self.up else monotonic() - self._heard_at

    async def open(self, timeout_s: float) -> None:
        """Raises :class:`SessionRefused` or, when the time is over, :class:`ConnectFailed`."""
        self._ready = asyncio.get_running_loop().create_future()
        self.start()
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), timeout_s)
        except TimeoutError:
            await self.close()
            raise self.status.error(ConnectFailed) from None
        except BaseException:
            await self.close()
            raise

    async def wait_up(self, timeout_s: float) -> bool:
        """False when the time is over first, or the broker refused for good."""
        if not self.up and not self.refused:
            self._changed = self._changed or asyncio.get_running_loop().create_future()
            await asyncio.wait({self._changed}, timeout=timeout_s)
        return self.up

    def start(self) -> None:
        """Connect in the background, again and again."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="guidance-session")
        self._task.add_done_callback(self._finished)

    def abandon(self) -> None:
        """In a forked child: leave the parent's stream and tasks alone, and alive."""
        abandon(self, self._task, self._stream)
        self.up = False

    async def close(self) -> None:
        """Send what waits, say goodbye, and wait a moment for the broker's own."""
        task, self._task = self._task, None
        if task is None:
            return
        if self.up and self._stream is not None:
            await self._say_goodbye(self._stream, task)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if self.up:
            self._went_down(Status(grpc.StatusCode.CANCELLED, "closed by the client"))

    async def _say_goodbye(self, stream: Call, task: asyncio.Task[None]) -> None:
        self.refused = True  # whatever ends the stream now, it is not dialled again
        try:
            async with asyncio.timeout(CLOSE_S):
                self._flushed.clear()
                self.wake()
                await self._flushed.wait()
                await stream.finish()
                await asyncio.wait({task})
        except TimeoutError:
            return

    def _finished(self, task: asyncio.Task[None]) -> None:
        """A fault of our own must not look like a broker that is away."""
        if task.cancelled() or task.exception() is None:
            return
        self._went_down(Status(grpc.StatusCode.INTERNAL, "the client's session task failed"))
        self.refused = True
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(task.exception() or RuntimeError())
            return
        message = "the guidance session's task failed"
        task.get_loop().call_exception_handler(
            {"message": message, "exception": task.exception(), "task": task}
        )

    async def _run(self) -> None:
        attempt = 0
        while True:
            started = monotonic()
            try:
                await self._once()
            except CallEnded as ended:
                self._went_down(ended.status)
            if self.refused:
                return
            lived = self._heard_at > started
            attempt = 0 if lived else attempt + 1
            if lived or attempt % len(self._dial.addresses) == 0:
                await asyncio.sleep(self._backoff.delay_s(attempt // len(self._dial.addresses), self._random))

    async def _once(self) -> None:
        """One connection from dialling to its end, which is always a :class:`CallEnded`."""
        address = self._dial.addresses[self._next_address % len(self._dial.addresses)]
        try:
            link = self._make_link(address, self._dial)
        except OSError as error:
            self._next_address += 1
            raise CallEnded(Status(grpc.StatusCode.UNAVAILABLE, f"TLS files: {error}")) from error
        stream: Call | None = None
        try:
            await link.ready()
            stream = link.call("Session")
            welcome, first = await self._greet(stream)
            fitting = self._dial.fitting(welcome.limits)
            if fitting != self._dial:
                self._dial = fitting
                return  # dial again, with options that suit this broker
            self._went_up(stream, welcome)
            self._take(first)
            await self._pump(stream)
        except CallEnded:
            if not self.up:
                self._next_address += 1
            raise
        finally:
            if stream is not None:
                stream.cancel()
            await link.close()

    async def _greet(self, stream: Call) -> tuple[Welcome, pb.SessionResponse]:
        try:
            async with asyncio.timeout(ATTEMPT_S):
                await stream.write(pb.SessionRequest(hello=self._hello).SerializeToString())
                first = pb.SessionResponse.FromString(await stream.read())
        except TimeoutError:
            raise CallEnded(Status(grpc.StatusCode.DEADLINE_EXCEEDED, "no welcome in time")) from None
        if not first.HasField("welcome"):
            raise CallEnded(Status(grpc.StatusCode.INTERNAL, "the broker's first word was no welcome"))
        try:
            return codec.welcome_from_proto(first.welcome), first
        except codec.ContractError as error:
            raise CallEnded(Status(grpc.StatusCode.INTERNAL, f"the broker's welcome: {error}")) from error

    async def _pump(self, stream: Call) -> None:
        writer = asyncio.get_running_loop().create_task(self._write(stream), name="guidance-session-writer")
        try:
            while True:
                self._take(pb.SessionResponse.FromString(await stream.read()))
        finally:
            writer.cancel()

    async def _write(self, stream: Call) -> None:
        """All that waits when a write completes goes as one message: no wait is ever added to gather more."""
        loop = asyncio.get_running_loop()
        while True:
            while (message := self._outbox.take()) is not None:
                if not await stream.write(message.SerializeToString()):
                    self._flushed.set()
                    return
            self._flushed.set()
            self._awaited = loop.create_future()
            await self._awaited

    def _take(self, message: pb.SessionResponse) -> None:
        self._heard_at = monotonic()
        self._handler.take(message)

    def _went_up(self, stream: Call, welcome: Welcome) -> None:
        self._stream = stream
        self._outbox.clear()
        self._outbox.max_rows = welcome.limits.max_rows or self._outbox.max_rows
        if welcome.limits.max_message_bytes:
            # an eighth is left for field headers and options, which the outbox does not count
            self._outbox.max_bytes = welcome.limits.max_message_bytes * 7 // 8
        self.up = True
        self._heard_at = monotonic()
        self._handler.up(welcome)
        self.wake()
        self._tell_waiting()
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)

    def _went_down(self, status: Status) -> None:
        was_up, self.up = self.up, False
        self.status = status
        self._stream = None
        if was_up:
            # a peer that stopped answering pings was last heard before the ping that found it out
            unheard = (self._dial.keepalive_ms + KEEPALIVE_TIMEOUT_MS) / 1000.0 if _timed_out(status) else 0.0
            self._heard_at = max(self._heard_at, monotonic() - unheard)
            self._handler.down(status)
        if status.final:
            self.refused = True
            self._tell_waiting()
            if self._ready is not None and not self._ready.done():
                self._ready.set_exception(_refusal(status))

    def _tell_waiting(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)
        self._changed = None


def _refusal(status: Status) -> GuidanceError:
    return status.error(SessionRefused)


def _timed_out(status: Status) -> bool:
    text = status.message.lower()
    return "keepalive" in text or "ping timeout" in text
