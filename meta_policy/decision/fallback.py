"""When the critics no longer disagree, uncertainty says nothing: ask at a fixed rate instead."""

from __future__ import annotations

import logging

import numpy as np

from agents.policy_file import Policy
from agents.ppo.monitor import inspect_ensemble
from meta_policy.decider import Decider
from meta_policy.decision.baselines import Periodic

PROBES = 200
log = logging.getLogger(__name__)


def unless_collapsed(decider: Decider, own: Policy, move: int, every: float, seed: int = 0) -> Decider:
    """`decider`, or asking by `move` at every `every`-th step where the ensemble of `own` has collapsed.

    Probes are drawn from the executor's own statistics of what it has seen. A policy with fewer than two
    critics is refused (ValueError): it would never report doubt.
    """
    noise = np.random.default_rng(seed).standard_normal((PROBES, len(own.norm_mean)))
    report = inspect_ensemble(own, own.norm_mean + own.norm_std * noise)
    if not report.ensemble_collapsed:
        return decider
    log.warning(
        "ensemble_collapsed: %.0f %% of far probes show more doubt than near ones, closest pair %.3g apart; "
        "asking at every %g steps instead",
        100 * report.far_share,
        report.closest_pair,
        every,
    )
    return Periodic(move, every)
