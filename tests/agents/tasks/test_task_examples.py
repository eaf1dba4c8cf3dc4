"""The examples in the docstrings run."""

from __future__ import annotations

import doctest
import importlib

import pytest

TASK_MODULES = ("", ".action_noise", ".generator", ".info", ".kicks", ".model_shift", ".physics", ".task")
MODULES = [*(f"agents.tasks{name}" for name in TASK_MODULES), "agents.vector", "agents.normalise"]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_run(module: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert tried > 0
    assert failed == 0
