from __future__ import annotations

import numpy as np
import pytest

from agents.tasks import make_task
from meta_policy.virtual.lean_hopper import LeanHopper

HOPPER = "guidance/PerturbedHopper-v0"


def test_the_lean_hopper_is_the_task_bit_for_bit():
    task, lean = (
        make_task(HOPPER),
        LeanHopper(make_task(HOPPER)),
    )
    rng = np.random.default_rng(0)
    for seed in range(12):
        assert (task.reset(seed=seed)[0] == lean.reset(seed=seed)[0]).all()
        over = False
        while not over:
            action = rng.uniform(-0.5, 0.5, 3).astype(np.float32)
            wanted, got = task.step(action), lean.step(action)
            assert (wanted[0] == got[0]).all()
            assert wanted[1:4] == got[1:4]
            over = wanted[2] or wanted[3]


def test_another_task_is_refused():
    with pytest.raises(TypeError):
        LeanHopper(make_task(HOPPER, perturb=False))
