"""``guidance-broker serve CONFIG``: a broker until SIGTERM or Ctrl-C; SIGHUP reloads."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

from broker.app import Broker
from broker.config import Config, ConfigError, load
from broker.errors import PreconditionFailed
from broker.ledger import LedgerInUse
from broker.providers.making import SetupError
from broker.providers.registry import PROVIDER_SETTINGS
from broker.routing.registry import ROUTE_SETTINGS
from broker.wire.server import PortTaken

SWITCH_S = 0.0005  # a policy's worker thread and the loop hand the interpreter over sooner than by default
FORCED = 130  # the exit status of a second signal


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("config", type=Path, help="a TOML file")


def run(args: Namespace) -> int:
    try:
        config = load(args.config, PROVIDER_SETTINGS, ROUTE_SETTINGS)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_serve(args.config, config))
    except (ConfigError, SetupError, PortTaken) as error:
        print(error, file=sys.stderr)
    except LedgerInUse:
        print(f"{config.ledger.path}: another broker has this ledger", file=sys.stderr)
    return 1


async def _serve(path: Path, config: Config) -> int:
    broker = Broker(path, config)
    stopping = asyncio.Event()
    _on_signals(broker, stopping)
    try:
        await broker.start()
        gc.collect()
        gc.freeze()  # what is there now stays, so the collector need not look at it again
        sys.setswitchinterval(SWITCH_S)
        _say_hello(broker)
        await stopping.wait()
    finally:
        await broker.stop()
    return 0


def _say_hello(broker: Broker) -> None:
    server = broker.config.server
    broker.log.info("serving", address=server.address, admin_address=server.admin_address)
    if not broker.config.auth_enabled:
        broker.log.warning("auth_off", effect="anyone on this machine may call")


def _on_signals(broker: Broker, stopping: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    reloads: set[asyncio.Task[None]] = set()

    def stop() -> None:
        if stopping.is_set():
            os._exit(FORCED)
        stopping.set()

    def start_reload() -> None:
        if stopping.is_set():
            return
        task = loop.create_task(reload(broker))
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    loop.add_signal_handler(signal.SIGHUP, start_reload)


async def reload(broker: Broker) -> None:
    """Reload; the broker logs how that went."""
    with contextlib.suppress(PreconditionFailed):
        await broker.reloader.reload()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    new_loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return new_loop
