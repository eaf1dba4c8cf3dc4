"""A broker of one's own as a process on loopback: started, watched, restarted, and never left behind.

It is started as anyone would start it, `python -m broker serve FILE`; none of it is imported.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import IO

READY_WITHIN_S = 60.0
GRACE_S = 6.0
_POLL_S = 0.05

# A session of its own keeps the terminal's Ctrl-C from the broker: we end it once its agents are done. Should
# we ourselves be killed, Linux ends it (PR_SET_PDEATHSIG = 1 outlives exec). This runs in a new interpreter:
# between fork and exec gRPC's threads make Python code unsafe.
_KEPT = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    if os.getppid() != int(sys.argv[1]):
        sys.exit(1)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


class BrokerFailed(RuntimeError):
    """The broker did not become ready; the message ends with what it said last."""


def free_ports() -> tuple[int, int]:
    """Two loopback ports that nobody listens on at this moment: one for guidance, one for administration."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


class BrokerProcess:
    """`python -m broker serve config`; `address` and `admin_address` are those in the file."""

    def __init__(self, config: Path, address: str, admin_address: str, log: Path) -> None:
        self.config = config
        self.address = address
        self.admin_address = admin_address
        self.log = log
        self.starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._log_file: IO[bytes] | None = None

    async def __aenter__(self) -> BrokerProcess:
        self.spawn()
        try:
            await self.ready()
        except BaseException:
            self.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def metrics_url(self) -> str:
        return f"http://{self.admin_address}/metrics"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def spawn(self) -> None:
        """Start the process, also after it died, and come back at once. Call it from the main thread: the
        kernel ties the process to the life of the thread that started it."""
        if self.alive:
            raise RuntimeError("the broker is running already")
        self._close_log()
        self._log_file = self.log.open("ab")
        served = ["-m", "broker", "serve", str(self.config)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _KEPT, str(os.getpid()), *served],
            stdin=subprocess.DEVNULL,
            stdout=self._log_file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.starts += 1

    async def ready(self, within_s: float = READY_WITHIN_S) -> None:
        """Wait until it says so itself. BrokerFailed when it ends or takes too long."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            if not self.alive:
                raise BrokerFailed(f"the broker ended with code {self.exit_code}:\n{self.last_words()}")
            if await _answers_ready(self.admin_address):
                return
            await asyncio.sleep(_POLL_S)
        raise BrokerFailed(f"the broker was not ready within {within_s:.0f} s:\n{self.last_words()}")

    @property
    def exit_code(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def last_words(self, lines: int = 12) -> str:
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def stop(self, grace_s: float = GRACE_S) -> int | None:
        """SIGTERM, then SIGKILL when the grace is over; safe to call twice. Returns the exit code."""
        process = self._process
        if process is None:
            return None
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(grace_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._close_log()
        return process.returncode

    def kill(self) -> None:
        """SIGKILL, as a crash would: for drills."""
        if self._process is not None and self.alive:
            self._process.kill()
            self._process.wait()

    def _close_log(self) -> None:
        if self._log_file is not None:
            self._log_file.close()
            self._log_file = None


async def _answers_ready(address: str) -> bool:
    """One GET /readyz over a bare connection; an answer other than 200, or none, is no."""
    host, port = address.rsplit(":", 1)
    try:
        reader, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        return False
    try:
        writer.write(f"GET /readyz HTTP/1.0\r\nHost: {address}\r\n\r\n".encode())
        status = await asyncio.wait_for(reader.readline(), 2.0)
        return b" 200" in status
    except (OSError, TimeoutError):
        return False
    finally:
        writer.close()
