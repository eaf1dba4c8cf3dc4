"""A server under load: one process of its own, ready when its port answers, gone when the block ends."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import grpc

READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(arguments: Sequence[str], address: str, log: Path, env: dict[str, str]) -> Iterator[int]:
    """Run ``python ARGUMENTS`` until the block ends; yields the pid once ``address`` accepts channels.

    Raises RuntimeError with the end of the log when it does not come up.
    """
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, *arguments], stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **env}
        )
    try:
        _wait_ready(address, process, log)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_ready(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    with grpc.insecure_channel(address) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=READY_TIMEOUT_S)
        except grpc.FutureTimeoutError:
            state = "still starting" if process.poll() is None else f"ended with {process.returncode}"
            raise RuntimeError(f"{address} is not up ({state}): {log.read_text()[-2000:]}") from None
