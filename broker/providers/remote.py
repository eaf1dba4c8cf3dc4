"""A source behind gRPC: any server, in any language, that implements ``ProviderService``."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import replace

import grpc
import grpc.aio

from broker.clock import Clock
from broker.providers.grpc_status import error_of_status
from broker.providers.interface import Call, Guided, ProviderError
from broker.providers.making import Making, SetupError
from broker.providers.remote_channel import RemoteSettings, call_metadata, open_channel
from broker.providers.remote_contract import check_description, guide_request, guided_of
from broker.setup.task_folder import TaskFolder
from protos import codec
from protos.guidance.v1 import provider_pb2 as pb
from protos.guidance.v1 import provider_pb2_grpc as services
from protos.types import GuidanceKind, ProviderInfo, ProviderKind, ProviderState, Query

LEAST_TIMEOUT_S = 0.001


class RemoteProvider:
    """Asks the source what it is at start. One that cannot be reached then is asked again until it answers.

    Until it has been described it is LOADING and gets no calls.
    """

    def __init__(
        self,
        settings: RemoteSettings,
        tasks: Mapping[str, TaskFolder],
        metadata: tuple[tuple[str, str], ...],
        clock: Clock,
    ) -> None:
        self.state = ProviderState.LOADING
        self.info = _undescribed(settings, tuple(tasks))
        self._settings = settings
        self._tasks = tasks
        self._metadata = metadata
        self._clock = clock
        self._next_id = 1
        self._channel: grpc.aio.Channel | None = None
        self._describing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises :class:`SetupError` when the source answers and does not fit."""
        self._channel = open_channel(self._settings)
        self._stub = services.ProviderServiceStub(self._channel)
        if not await self._described():
            self._describing = asyncio.get_running_loop().create_task(self._keep_describing())

    async def close(self) -> None:
        self.state = ProviderState.REMOVED
        if self._describing is not None:
            self._describing.cancel()
            await asyncio.gather(self._describing, return_exceptions=True)
        if self._channel is not None:
            await self._channel.close()

    async def guide(self, query: Query, call: Call) -> Guided:
        request = guide_request(call.task, query, self.info.reads, self._next_id)
        self._next_id += query.rows
        timeout_s = max(LEAST_TIMEOUT_S, call.deadline - self._clock.now())
        try:
            reply = await self._stub.Guide(request, timeout=timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise _as_provider_error(error) from None
        folder = self._tasks.get(call.task)
        actions = math.prod(folder.action.shape) if folder else None
        return guided_of(reply, query.rows, actions)

    # ---------------------------------------------------------------- describing

    async def _described(self) -> bool:
        """Whether the source could be asked for every task. SetupError where it does not fit."""
        told: ProviderInfo | None = None
        timeout_s = self._settings.describe_timeout_ms / 1000
        for task, folder in self._tasks.items():
            try:
                reply = await self._stub.Describe(
                    pb.DescribeRequest(task=task), timeout=timeout_s, metadata=self._metadata
                )
                told = codec.provider_info_from_proto(reply.info)
            except grpc.aio.AioRpcError as error:
                if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                    return False
                raise SetupError("address", f"Describe failed with {error.code().name}") from None
            except codec.ContractError as error:
                raise SetupError("address", f"Describe broke the contract: {error.message}") from None
            check_description(told, task, folder, self._settings.layout_id)
        if told is not None:
            self.info = _described_info(told, self._settings, self._tasks)
        self.state = ProviderState.READY
        return True

    async def _keep_describing(self) -> None:
        while True:
            await self._clock.sleep_until(self._clock.now() + self._settings.retry_describe_ms / 1000)
            try:
                if await self._described():
                    return
            except SetupError:
                self.state = ProviderState.OPEN  # it answers and does not fit; it may be put right


def make_remote(settings: RemoteSettings, making: Making) -> RemoteProvider:
    if not making.tasks:
        raise SetupError("tasks", "a remote source needs at least one task that has a folder")
    return RemoteProvider(settings, making.tasks, call_metadata(settings), making.clock)


def _undescribed(settings: RemoteSettings, tasks: tuple[str, ...]) -> ProviderInfo:
    return ProviderInfo(
        provider_id=settings.id,
        kind=ProviderKind.REMOTE,
        guidance_kinds=frozenset({GuidanceKind.ACTION}),
        price=settings.price.price(),
        tasks=tasks,
        timeout_ms=settings.timeout_ms,
        max_concurrency=settings.max_concurrency,
    )


def _described_info(
    told: ProviderInfo, settings: RemoteSettings, tasks: Mapping[str, TaskFolder]
) -> ProviderInfo:
    """The source's word about itself, under the operator's and, for shapes and bounds, the task's."""
    said = settings.model_fields_set
    alone = next(iter(tasks.values())) if len(tasks) == 1 else None
    return replace(
        told,
        provider_id=settings.id,
        kind=ProviderKind.REMOTE,
        tasks=tuple(tasks),
        observations=alone.observations if alone else (),
        action=alone.action if alone else None,
        price=told.price if "price" not in said else settings.price.price(),
        timeout_ms=settings.timeout_ms if "timeout_ms" in said else told.timeout_ms or settings.timeout_ms,
        max_concurrency=settings.max_concurrency
        if "max_concurrency" in said
        else told.max_concurrency or settings.max_concurrency,
    )


def _as_provider_error(error: grpc.aio.AioRpcError) -> ProviderError:
    return error_of_status(error.code(), error.details(), tuple(error.trailing_metadata() or ()))
