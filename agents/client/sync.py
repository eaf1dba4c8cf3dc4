"""The same client for code without an event loop: every call is made on a private loop thread. No logic here.

What only reads (`advice`, `held`, `connected`, `counts`, `providers`) reads at once, without a hop to that
thread: registers and views are immutable values, which the loop thread swaps whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.client import aio
from agents.client.advice import Advice
from agents.client.asks import Ended
from agents.client.book import Arrival
from agents.client.channel import TlsFiles
from agents.client.columns import Columns
from agents.client.constraints import Verdict
from agents.client.counts import Counts
from agents.client.errors import Status
from agents.client.lane import Held
from agents.client.loop_thread import LoopThread
from agents.client.providers import ProviderTable, ProviderView
from agents.client.session import DEFAULT_OPTIONS
from agents.client.session import Session as AioSession
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import (
    ActionSpec,
    Answer,
    AskOptions,
    Failure,
    GuidanceKind,
    LaneEventKind,
    LaneSpec,
    OperatorPush,
    Outcome,
    TensorSpec,
)


class Session:
    """See :class:`agents.client.session.Session`; here everything blocks."""

    def __init__(self, thread: LoopThread, session: AioSession) -> None:
        self._thread = thread
        self._session = session

    @property
    def providers(self) -> ProviderTable:
        return self._session.providers

    @property
    def connected(self) -> bool:
        return self._session.connected

    @property
    def status(self) -> Status:
        return self._session.status

    @property
    def counts(self) -> Counts:
        return self._session.counts

    @property
    def credits(self) -> int:
        return self._session.credits

    @property
    def in_flight(self) -> int:
        return self._session.in_flight

    def start_episode(self, lane: int, episode: int) -> None:
        self._thread.call(self._session.start_episode, lane, episode)

    def end_episode(self, lane: int, truncated: bool = False) -> None:
        self._thread.call(self._session.end_episode, lane, truncated)

    def lane_event(self, lane: int, kind: LaneEventKind, goal_id: str = "") -> None:
        self._thread.call(self._session.lane_event, lane, kind, goal_id)

    def ask(
        self,
        lanes: Iterable[int],
        steps: Iterable[int],
        observations: Mapping[str, Any],
        options: AskOptions = DEFAULT_OPTIONS,
        **columns: Unpack[Columns],
    ) -> list[int]:
        return self._thread.call(self._session.ask, lanes, steps, observations, options, **columns)

    def observe(
        self, lanes: Iterable[int], steps: Iterable[int], observations: Mapping[str, Any]
    ) -> list[int]:
        return self._thread.call(self._session.observe, lanes, steps, observations)

    def settled(self, lanes: Iterable[int], steps: Iterable[int], timeout_s: float) -> bool:
        return self._thread.run(self._session.settled(lanes, steps, timeout_s))

    def advice(self, lane: int, step: int) -> Advice | None:
        return self._session.advice(lane, step)

    def held(self, lane: int, kind: GuidanceKind) -> Held | None:
        return self._session.held(lane, kind)

    def runway_steps(self, lane: int, step: int) -> int:
        return self._thread.call(self._session.runway_steps, lane, step)

    def constrain(self, lane: int, step: int, action: Any) -> tuple[NDArray[np.generic], Verdict]:
        return self._thread.call(self._session.constrain, lane, step, action)

    def wait_connected(self, timeout_s: float) -> bool:
        return self._thread.run(self._session.wait_connected(timeout_s))

    def cancel(self, ask_id: int) -> None:
        self._thread.call(self._session.cancel, ask_id)

    def report(self, outcome: Outcome) -> None:
        self._thread.call(self._session.report, outcome)

    def outcome(self, ask_id: int) -> Ended | None:
        return self._session.outcome(ask_id)

    def listen(self, listener: Callable[[Answer], None] | None) -> None:
        self._session.listen(listener)

    @property
    def fault(self) -> Failure | None:
        return self._session.fault

    def arrivals(self) -> list[Arrival]:
        return self._thread.call(self._session.arrivals)

    def pushes(self) -> list[OperatorPush]:
        return self._thread.call(self._session.pushes)

    def close(self) -> None:
        self._thread.run(self._session.close())


class GuidanceClient:
    """`with GuidanceClient("127.0.0.1:50051") as client:` See :class:`agents.client.aio.GuidanceClient`."""

    def __init__(
        self,
        addresses: Sequence[str] | str,
        token: str | None = None,
        tls: TlsFiles | None = None,
        agent: str | None = None,
    ) -> None:
        self._thread = LoopThread()
        self._client = aio.GuidanceClient(addresses, token, tls, agent)

    def __enter__(self) -> GuidanceClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open_session(
        self,
        task: str,
        observations: Sequence[TensorSpec],
        action: ActionSpec,
        lanes: Sequence[LaneSpec],
        context: Sequence[TensorSpec] = (),
        connect_timeout_s: float = aio.CONNECT_TIMEOUT_S,
    ) -> Session:
        opening = self._client.open_session(task, observations, action, lanes, context, connect_timeout_s)
        return Session(self._thread, self._thread.run(opening))

    def get_guidance(
        self,
        task: str,
        observations: Mapping[str, Any],
        options: AskOptions = DEFAULT_OPTIONS,
        **columns: Any,
    ) -> Answer:
        return self._thread.run(self._client.get_guidance(task, observations, options, **columns))

    def list_providers(
        self, task: str = "", timeout_s: float = aio.CALL_TIMEOUT_S
    ) -> tuple[ProviderView, ...]:
        return self._thread.run(self._client.list_providers(task, timeout_s))

    def report_outcome(
        self, outcomes: Iterable[Outcome], timeout_s: float = aio.CALL_TIMEOUT_S
    ) -> pb.ReportOutcomeResponse:
        return self._thread.run(self._client.report_outcome(outcomes, timeout_s))

    def close(self) -> None:
        self._thread.run(self._client.close())
        self._thread.stop()
