"""An exported policy, run by torch on a thread of its own. Raw observations in, clipped actions out.

torch is imported when such a source starts, so a broker without one never loads it.
"""

from __future__ import annotations

import numpy as np

from broker.config import InputFile, PositiveInt, ProviderSettings
from broker.outcomes import AttemptOutcome
from broker.providers.interface import Call, Guided, ProviderError
from broker.providers.making import Making, SetupError
from broker.providers.micro_batch import Forward, MicroBatcher
from broker.providers.policy_file import PolicyFile, PolicyFileError, load_policy_file
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

WARM_UP_ROWS = (1, 64)


class PolicySettings(ProviderSettings):
    """``file`` is an exported policy; ``max_batch_rows`` bounds one forward pass."""

    file: InputFile
    max_batch_rows: PositiveInt = 4096


class PolicyProvider:
    """Rows of all callers that wait share one forward pass."""

    def __init__(self, info: ProviderInfo, policy: PolicyFile, max_batch_rows: int = 4096) -> None:
        self.info = info
        self.state = ProviderState.LOADING
        self._policy = policy
        self._batcher = MicroBatcher(f"policy-{info.provider_id}", lambda: _load(policy), max_batch_rows)

    async def start(self) -> None:
        await self._batcher.start()
        self.state = ProviderState.READY

    async def close(self) -> None:
        self.state = ProviderState.REMOVED
        await self._batcher.close()

    async def guide(self, query: Query, call: Call) -> Guided:
        rows = query.observations.get(self._policy.observation)
        if rows is None or rows.shape != (query.rows, self._policy.inputs):
            raise ProviderError(AttemptOutcome.MISCONFIGURED, "the policy reads another observation")
        try:
            ran = await self._batcher.run(rows)
        except Exception as error:
            raise ProviderError(AttemptOutcome.PROVIDER_FAULT, f"the forward pass failed: {error}") from error
        return Guided(
            AttemptOutcome.OK,
            ActionAdvice(ran.results),
            queue_us=ran.queue_us,
            provider_us=ran.forward_us,
        )


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


def _load(policy: PolicyFile) -> Forward:
    """The policy as a function of raw rows ``[B, O]``; runs on the worker thread."""
    import torch

    torch.set_num_threads(1)
    weights = [torch.from_numpy(weight.T.copy()) for weight in policy.weights]
    biases = [torch.from_numpy(bias) for bias in policy.biases]
    layers = list(zip(weights, biases, strict=True))

    @torch.inference_mode()
    def forward(rows: np.ndarray) -> np.ndarray:
        hidden = torch.from_numpy(policy.normalise(rows))
        for weight, bias in layers[:-1]:
            hidden = torch.addmm(bias, hidden, weight).tanh_()
        weight, bias = layers[-1]
        means: np.ndarray = torch.addmm(bias, hidden, weight).numpy()
        clipped: np.ndarray = np.minimum(np.maximum(means, policy.low), policy.high)
        return clipped

    for count in WARM_UP_ROWS:
        forward(np.zeros((count, policy.inputs)))
    return forward
