"""A whole broker on a clock moved by hand, with scripted sources and sessions without a wire."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from broker.app import Broker
from broker.auth import Grant, Role
from broker.config import PositiveMilliseconds, ProviderSettings, parse
from broker.events import Event
from broker.providers.making import Kind, Making
from broker.routing.registry import ROUTE_SETTINGS
from broker.running.log import make_logger
from broker.sessions.table import OpenSession
from broker.testing import ManualClock, ScriptedProvider, scripted_provider, settle
from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import (
    AskOptions,
    BoxAction,
    Hello,
    LaneSpec,
    LeaseRows,
    ProviderKind,
    Query,
    TensorSpec,
)

TASK = "task"
SPEC = TensorSpec("obs", np.dtype(np.float32), (2,))
ROLES = frozenset(Role)
ROUTE = """
[tasks.task]
route = { strategy = "fixed", providers = ["source"] }
"""
FREE_SOURCE = """
[[providers]]
id = "source"
kind = "scripted"
"""


class ScriptedSettings(ProviderSettings):
    timeout_ms: PositiveMilliseconds = 60_000
    leasable: bool = True


def make_scripted(settings: ScriptedSettings, making: Making) -> ScriptedProvider:
    return scripted_provider(
        settings.id,
        clock=making.clock,
        kind=ProviderKind.REMOTE,
        price=settings.price.price(),
        tasks=(TASK,),
        timeout_ms=settings.timeout_ms,
        max_concurrency=settings.max_concurrency,
        leasable=settings.leasable,
    )


KINDS = {"scripted": Kind(ScriptedSettings, make_scripted)}


class House:
    """`events` is everything the broker said had happened, in order."""

    def __init__(self, text: str) -> None:
        self.clock = ManualClock()
        settings = {name: kind.settings for name, kind in KINDS.items()}
        config = parse(text, settings, ROUTE_SETTINGS, {})
        logger = make_logger("error", io.StringIO())
        self.broker = Broker(Path("broker.toml"), config, {}, self.clock, logger, KINDS)
        self.events: list[Event] = []
        self.broker.events.listen(self.events.append)
        self.broker.metrics.know(["default"], config.tasks, [p.id for p in config.providers])

    def source(self, name: str = "source") -> ScriptedProvider:
        provider = self.broker.assembled.providers[name]
        assert isinstance(provider, ScriptedProvider)
        return provider

    def told(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if type(event) is kind]

    def charged(self) -> float:
        return sum(line.charged_usd for line in self.broker.ledger.summary())

    def reserved(self) -> float:
        return sum(line.reserved_usd for line in self.broker.ledger.summary())

    def open(self, agent: str = "agent", lanes: int = 1, tenant: str = "default") -> Agent:
        hello = Hello(
            agent=agent,
            task=TASK,
            observations=(SPEC,),
            action=BoxAction((1,), (-1.0,), (1.0,)),
            lanes=tuple(LaneSpec(lane, period_us=50_000) for lane in range(lanes)),
        )
        return Agent(self, self.broker.sessions.open(Grant(tenant, "test", ROLES), hello))


@contextmanager
def house(text: str = ROUTE + FREE_SOURCE) -> Iterator[House]:
    built = House(text)
    try:
        yield built
    finally:
        built.broker.ledger.close()


class Agent:
    """One session's far end. Whatever it has been sent is gathered in `heard`."""

    def __init__(self, house: House, opened: OpenSession) -> None:
        self.house = house
        self.opened = opened
        self.session = opened.session
        self.heard = pb.SessionResponse()

    @property
    def answers(self) -> Sequence[pb.AnswerBatch]:
        return self.read().answers

    @property
    def failures(self) -> Sequence[pb.Failure]:
        return self.read().failures

    @property
    def credits_returned(self) -> int:
        return self.read().credits_returned

    def read(self) -> pb.SessionResponse:
        """Take what waits; credits are summed up."""
        outbox = self.session.outbox
        while True:
            data = outbox.take()
            if not data:
                return self.heard
            message = pb.SessionResponse.FromString(data)
            credits = self.heard.credits_returned + message.credits_returned
            self.heard.MergeFrom(message)
            self.heard.credits_returned = credits

    def forget(self) -> None:
        self.read()
        self.heard = pb.SessionResponse()

    def ask(self, *ask_ids: int, **told: Any) -> None:
        self.send(asks=[batch(*ask_ids, **told)])

    def step(self, ask_id: int, step: int, lane: int = 0) -> None:
        """One row of a lease."""
        rows = LeaseRows([lane], [ask_id], [step], {"obs": np.zeros((1, 2), np.float32)})
        self.send(lease_rows=[codec.lease_rows_to_proto(rows)])

    def send(self, **parts: Any) -> None:
        self.session.receive(pb.SessionRequest(**parts))

    async def after(self, seconds: float = 0.0) -> pb.SessionResponse:
        """What has been heard once the clock has moved on and every task has come to its next wait."""
        await settle()
        if seconds:
            await self.house.clock.advance(seconds)
        return self.read()


def batch(
    *ask_ids: int,
    lanes: Sequence[int] | None = None,
    episode: int = 1,
    step: int = 0,
    generation: int = 0,
    observation: float = 0.5,
    **options: Any,
) -> pb.AskBatch:
    rows = len(ask_ids)
    query = Query(
        options=AskOptions(**options),
        lanes=list(lanes or [0] * rows),
        ask_ids=list(ask_ids),
        episodes=[episode] * rows,
        steps=[step] * rows,
        lane_generations=[generation] * rows,
        observations={"obs": np.full((rows, 2), observation, np.float32)},
    )
    return codec.query_to_proto(query)
