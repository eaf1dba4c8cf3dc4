"""The cheapest rule there is, so that a bench measures the broker and not the rule."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from load_tests.broker_config import ACTION


def stand_still(observations: Mapping[str, np.ndarray]) -> np.ndarray:
    """Zeros ``[B, A]`` for observations ``[B, O]``."""
    return np.zeros((len(observations["observation"]), ACTION), np.float32)
