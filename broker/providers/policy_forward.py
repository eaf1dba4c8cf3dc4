"""The forward pass of an exported policy, twice: in numpy for a few rows, in torch for many.

Both give the same actions to a millionth. numpy starts a layer in a microsecond or two where torch takes five
to ten, and starting is most of what a few rows of a small network cost; torch is for large batches.
"""

from __future__ import annotations

import numpy as np

from broker.providers.micro_batch import Forward
from broker.providers.policy_file import PolicyFile

WARM_UP_ROWS = (1, 64)


def flops_a_row(policy: PolicyFile) -> int:
    """Multiplications and additions of one row's matrix products."""
    return 2 * sum(weight.size for weight in policy.weights)


def numpy_forward(policy: PolicyFile) -> Forward:
    """Raw rows ``[B, O]`` to clipped float32 actions ``[B, A]``. Safe to call on several threads at once."""
    weights = [weight.T.copy() for weight in policy.weights]
    layers = list(zip(weights[:-1], policy.biases[:-1], strict=True))
    last_weight, last_bias = weights[-1], policy.biases[-1]
    low, high = policy.low, policy.high

    def forward(rows: np.ndarray) -> np.ndarray:
        hidden = policy.normalise(rows)
        for weight, bias in layers:
            hidden = hidden @ weight
            hidden += bias
            np.tanh(hidden, out=hidden)
        actions: np.ndarray = hidden @ last_weight
        actions += last_bias
        np.maximum(actions, low, out=actions)
        np.minimum(actions, high, out=actions)
        return actions

    return _warm(forward, policy)


def torch_forward(policy: PolicyFile) -> Forward:
    """The same by torch, which is imported here: a broker that has no policy never loads it."""
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

    return _warm(forward, policy)


def _warm(forward: Forward, policy: PolicyFile) -> Forward:
    for count in WARM_UP_ROWS:
        forward(np.zeros((count, policy.inputs)))
    return forward
