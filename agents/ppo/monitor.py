"""Does the ensemble still disagree where it should? One that cannot disagree reports certainty everywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.networks import MlpStack
from agents.policy_file import Policy

FAR = 10.0
REQUIRED_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class EnsembleReport:
    """far_share: the share of far probes that show more disagreement than the median near one.

    closest_pair: the smallest distance between two members' parameters.
    """

    far_share: float
    near_median: float
    far_median: float
    closest_pair: float

    @property
    def ensemble_collapsed(self) -> bool:
        """True if uncertainty must not be relied on."""
        return self.closest_pair == 0.0 or self.far_share < REQUIRED_SHARE


def pairwise_distances(stack: MlpStack) -> NDArray[np.float64]:
    """Euclidean distances between the members' parameter vectors, `[K, K]`."""
    rows = stack.rows.astype(np.float64)
    return np.sqrt(np.maximum(((rows[:, None] - rows[None]) ** 2).sum(axis=-1), 0.0))


def inspect_ensemble(policy: Policy, probes: NDArray[np.float64]) -> EnsembleReport:
    """Compare the spread of values at raw observations `probes` `[B, O]` with that at ten times them."""
    if policy.critics is None or policy.critics.functions.shape.members < 2:
        raise ValueError("an ensemble of one never disagrees: uncertainty needs two or more critics")
    near = policy.values(probes).std(axis=0)
    far = policy.values(FAR * probes).std(axis=0)
    distances = pairwise_distances(policy.critics.functions)
    apart = distances[~np.eye(len(distances), dtype=bool)]
    return EnsembleReport(
        float((far > np.median(near)).mean()),
        float(np.median(near)),
        float(np.median(far)),
        float(apart.min()),
    )
