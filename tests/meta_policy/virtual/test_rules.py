from __future__ import annotations

import numpy as np
import pytest

from broker.providers.shipped_rules import SHIPPED_RULES
from meta_policy.virtual.rules import RULES


@pytest.mark.parametrize(
    ("task", "size"), [("guidance/PerturbedHopper-v0", 11), ("guidance/PerturbedHalfCheetah-v0", 17)]
)
def test_the_virtual_rule_says_what_the_brokers_rule_says(task, size):
    rows = np.random.default_rng(0).standard_normal((50, size))
    answered = SHIPPED_RULES[task]({"observation": rows})
    np.testing.assert_allclose(RULES[task](rows), answered, rtol=0, atol=1e-12)
