"""An exported policy: raw observations in, clipped actions out.

A batch whose forward pass takes no longer than taking its message apart is run where it is asked for, on the
event loop: a thread costs two wake-ups and waits for the interpreter's lock, some 200 us, and one row of a
64x64 network takes 20. What :data:`INLINE_FLOPS` does not cover goes to a thread of the source's own, where
the rows of all callers that wait share one pass. The bound is a number of operations, not of rows, so that a
large network never holds the loop up, whoever else is waiting on it.
"""

from __future__ import annotations

import time

import numpy as np

from broker.config import InputFile, PositiveInt, ProviderSettings
from broker.outcomes import AttemptOutcome
from broker.providers.interface import Call, Guided, ProviderError
from broker.providers.making import Making, SetupError
from broker.providers.micro_batch import MicroBatcher
from broker.providers.policy_file import PolicyFile, PolicyFileError, load_policy_file
from broker.providers.policy_forward import flops_a_row, numpy_forward, torch_forward
from protos.types import (
    ActionAdvice,
    BoxAction,
    GuidanceKind,
    ProviderInfo,
    ProviderKind,
    ProviderState,
    Query,
    TensorSpec,
)

INLINE_FLOPS = 8_000_000
"""At most so many operations at once on the event loop: half a millisecond of one core, or 350 rows of 105
numbers through a 64x64 network. Taking apart the message that brings so many rows holds it up longer."""


class PolicySettings(ProviderSettings):
    """``file`` is an exported policy; ``max_batch_rows`` bounds one forward pass."""

    file: InputFile
    max_batch_rows: PositiveInt = 4096


class PolicyProvider:
    """Small batches are answered on the loop; larger ones that wait for the thread share one forward pass."""

    never_waits = False

    def __init__(self, info: ProviderInfo, policy: PolicyFile, max_batch_rows: int = 4096) -> None:
        self.info = info
        self.state = ProviderState.LOADING
        self._observation = policy.observation
        self._inputs = policy.inputs
        self._forward = numpy_forward(policy)
        self._inline_rows = INLINE_FLOPS // flops_a_row(policy)
        self._batcher = MicroBatcher(
            f"policy-{info.provider_id}", lambda: torch_forward(policy), max_batch_rows
        )

    async def start(self) -> None:
        await self._batcher.start()
        self.state = ProviderState.READY

    async def close(self) -> None:
        self.state = ProviderState.REMOVED
        await self._batcher.close()

    async def guide(self, query: Query, call: Call) -> Guided:
        if self.answers_now(query):
            return self.guide_now(query, call)
        rows = self._rows(query)
        try:
            ran = await self._batcher.run(rows)
        except Exception as error:
            raise _failed(error) from error
        advice = ActionAdvice(ran.results)
        return Guided(AttemptOutcome.OK, advice, queue_us=ran.queue_us, provider_us=ran.forward_us)

    def answers_now(self, query: Query) -> bool:
        return query.rows <= self._inline_rows and self.state is ProviderState.READY

    def guide_now(self, query: Query, call: Call) -> Guided:
        rows = self._rows(query)
        started = time.perf_counter()
        try:
            advice = ActionAdvice(self._forward(rows))
        except Exception as error:
            raise _failed(error) from error
        return Guided(AttemptOutcome.OK, advice, provider_us=_microseconds(started))

    def _rows(self, query: Query) -> np.ndarray:
        rows = query.observations.get(self._observation)
        if rows is None or rows.shape != (query.rows, self._inputs):
            raise ProviderError(AttemptOutcome.MISCONFIGURED, "the policy reads another observation")
        return rows


def _failed(error: Exception) -> ProviderError:
    return ProviderError(AttemptOutcome.PROVIDER_FAULT, f"the forward pass failed: {error}")


def _microseconds(started: float) -> int:
    """Since then, and at least one: 0 would mean that nobody has measured."""
    return max(1, int((time.perf_counter() - started) * 1e6))


def make_policy(settings: PolicySettings, making: Making) -> PolicyProvider:
    """SetupError when the file is no policy, or not one for every task this source serves."""
    try:
        policy = load_policy_file(settings.file)
    except PolicyFileError as error:
        raise SetupError("file", str(error)) from None
    for name, folder in making.tasks.items():
        shapes = {spec.name: spec.shape for spec in folder.observations}
        if shapes.get(policy.observation) != (policy.inputs,) or folder.action.shape != (policy.actions,):
            fault = (
                f"takes {policy.inputs} inputs and gives {policy.actions} actions, which is not task {name!r}"
            )
            raise SetupError("file", fault)
    return PolicyProvider(_info(settings, policy, tuple(making.tasks)), policy, settings.max_batch_rows)


def _info(settings: PolicySettings, policy: PolicyFile, tasks: tuple[str, ...]) -> ProviderInfo:
    bounds = (tuple(policy.low.tolist()), tuple(policy.high.tolist()))
    return ProviderInfo(
        provider_id=settings.id,
        kind=ProviderKind.POLICY,
        guidance_kinds=frozenset({GuidanceKind.ACTION}),
        price=settings.price.price(),
        tasks=tasks or (policy.task,),
        observations=(TensorSpec(policy.observation, np.dtype(np.float64), (policy.inputs,)),),
        action=BoxAction((policy.actions,), *bounds),
        timeout_ms=settings.timeout_ms,
        max_concurrency=settings.max_concurrency,
        leasable=True,
    )
