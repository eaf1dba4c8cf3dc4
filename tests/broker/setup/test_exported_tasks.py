"""What the agents' half exports, this half reads: the two meet in the file."""

import asyncio

import numpy as np
import pytest

from agents.tasks import TASKS
from agents.tasks.export import export_task
from broker.clock import SystemClock
from broker.providers.making import Making
from broker.providers.rules import RulesSettings, make_rules
from broker.setup.task_folder import load_task_folder
from tests.broker.making import a_call, a_query


@pytest.mark.parametrize("task_id", sorted(TASKS))
def test_an_exported_folder_gives_the_table_s_schema_and_a_rule_answers_in_it(task_id, tmp_path):
    info = TASKS[task_id]
    folder = load_task_folder(export_task(task_id, tmp_path))
    assert (folder.task, folder.period_us, folder.max_steps) == (task_id, info.period_us, info.max_steps)
    assert folder.observations[0].shape == (info.observation_dim,)
    assert folder.action.names == info.action_names
    assert (folder.action.low, folder.action.high) == (info.action_low, info.action_high)
    assert folder.safe_action == info.safe_action
    rule = make_rules(RulesSettings(id="rule", kind="rules"), Making(SystemClock(), {task_id: folder}))
    guided = asyncio.run(rule.guide(a_query(5, info.observation_dim), a_call(task=task_id)))
    assert guided.guidance.actions.shape == (5, info.action_dim)
    assert np.abs(guided.guidance.actions).max() <= 1.0
