"""Rules: shipped ones by task, the operator's own by name, text never evaluated."""

import numpy as np
import pytest

from broker.outcomes import AttemptOutcome
from broker.providers.interface import ProviderError
from broker.providers.making import Making, SetupError
from broker.providers.rules import RulesSettings, find_rule, make_rules
from broker.providers.shipped_rules import SHIPPED_RULES, Reflexes
from broker.testing import ManualClock
from tests.broker.making import TASK, a_call, a_query, a_task

HERE = "tests.broker.providers.test_rules"


def first_three(observations):
    return 10 * observations["observation"][:, :3]


def wrong_shape(observations):
    return np.zeros((1, 2))


def not_finite(observations):
    return np.full((len(observations["observation"]), 3), np.nan)


def raising(observations):
    raise ZeroDivisionError("sensitive text")


def made(rule=""):
    settings = RulesSettings(id="rule", kind="rules", rule=rule)
    return make_rules(settings, Making(ManualClock(), {TASK: a_task()}))


def test_an_operator_s_function_answers_every_row_clipped_to_the_task_s_bounds():
    query = a_query(rows=4)
    guided = made(f"{HERE}:first_three").guide_now(query, a_call())
    expected = np.clip(10 * query.observations["observation"][:, :3], -1, 1).astype(np.float32)
    assert np.array_equal(guided.guidance.actions, expected)


async def test_guide_and_guide_now_say_the_same():
    rule, query = made(), a_query(rows=3)
    later = await rule.guide(query, a_call())
    assert np.array_equal(later.guidance.actions, rule.guide_now(query, a_call()).guidance.actions)


def test_rows_are_independent_of_their_company():
    rule, query = made(), a_query(rows=6)
    together = rule.guide_now(query, a_call()).guidance.actions
    alone = np.concatenate(
        [rule.guide_now(query.take([row]), a_call()).guidance.actions for row in range(query.rows)]
    )
    assert np.abs(together - alone).max() <= 1e-6


@pytest.mark.parametrize("name", sorted(SHIPPED_RULES))
def test_a_shipped_rule_is_found_by_its_task(name):
    assert find_rule(name) is SHIPPED_RULES[name]


@pytest.mark.parametrize(
    "entry",
    [
        "lambda o: o",
        "__import__('os').system('true')",
        "os.path",
        "no_such_module_here:rule",
        f"{HERE}:no_such_function",
        f"{HERE}:HERE",
        "guidance/Unknown-v0",
        "a b:c",
    ],
)
def test_what_is_no_function_is_refused_by_name(entry):
    with pytest.raises(SetupError, match="rule"):
        find_rule(entry)


def test_a_reflex_is_the_sum_it_says():
    """Two joints, one row: spring, swing, neighbour and torso, by hand."""
    reflexes = Reflexes(
        joints=(0, 1),
        rates=(2, 3),
        torso=(4, 5, 6),
        stiffness=(2.0, 1.0),
        posture=(0.5, 0.0),
        swing=(0.25, 0.0),
        neighbour=(0.0, 0.5),
        tilt=(1.0, 0.0),
        tilt_rate=(0.0, 3.0),
        speed=(0.0, 0.125),
        motors=(1, 0),
    )
    row = np.array([[0.25, 0.75, 3.0, -1.0, 0.5, 2.0, 3.0]])
    first = 2.0 * (0.5 - 0.25) + 0.25 * np.tanh(1.0) + 0.5
    second = 1.0 * (0.0 - 0.75) + 0.5 * np.tanh(1.0) + 3.0 * 2.0 / 3.0 + 0.125 * (3.0 - 1.0)
    assert reflexes({"observation": row}) == pytest.approx(np.array([[second, first]]))


def test_a_rule_without_a_task_is_refused():
    with pytest.raises(SetupError, match="tasks"):
        make_rules(RulesSettings(id="rule", kind="rules"), Making(ManualClock()))


@pytest.mark.parametrize("rule", ["wrong_shape", "not_finite"])
def test_a_reply_that_cannot_be_used_is_invalid(rule):
    assert made(f"{HERE}:{rule}").guide_now(a_query(rows=2), a_call()).outcome is AttemptOutcome.INVALID


def test_a_rule_that_raises_is_the_provider_s_fault():
    with pytest.raises(ProviderError) as error:
        made(f"{HERE}:raising").guide_now(a_query(), a_call())
    assert error.value.outcome is AttemptOutcome.PROVIDER_FAULT
    assert "sensitive" not in str(error.value)


def test_another_task_gets_no_guidance():
    assert made().guide_now(a_query(), a_call(task="other")).outcome is AttemptOutcome.NO_GUIDANCE


def test_a_module_that_fails_as_it_is_imported_is_told_as_such(tmp_path, monkeypatch):
    (tmp_path / "half_a_rule.py").write_text("def f(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SetupError, match="cannot be imported: invalid syntax"):
        find_rule("half_a_rule:f")
