"""What a session declares must fit its task, and what it sends must fit what it declared."""

from dataclasses import replace

import numpy as np
import pytest

from broker.errors import InvalidRequest, PreconditionFailed
from broker.sessions.schema import Schema, check_hello
from protos.types import BoxAction, Hello, LaneSpec, TensorSpec
from tests.broker.making import a_query, a_task

SPEC = TensorSpec("observation", np.dtype(np.float64), (11,))
HELLO = Hello(
    agent="agent",
    task="task",
    observations=(SPEC,),
    action=BoxAction((3,), (-1.0,) * 3, (1.0,) * 3, ("a", "b", "c")),
    lanes=(LaneSpec(0, 8_000, ("a", "b", "c")),),
)


def test_a_hello_that_says_what_the_task_says_is_taken():
    check_hello(HELLO, a_task())
    check_hello(HELLO, None)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"observations": (replace(SPEC, shape=(12,)),)}, "hello.observations[observation]"),
        ({"observations": (replace(SPEC, dtype=np.dtype(np.float32)),)}, "hello.observations[observation]"),
        ({"observations": (SPEC, replace(SPEC, name="extra"))}, "hello.observations[extra]"),
        ({"action": BoxAction((2,), (-1.0,) * 2, (1.0,) * 2)}, "hello.action.shape"),
        ({"action": replace(HELLO.action, names=("b", "a", "c"))}, "hello.action.names"),
        ({"lanes": (LaneSpec(0, 8_000, ("b", "a", "c")),)}, "hello.lanes.action_names"),
        ({"lanes": (LaneSpec(0, 20_000),)}, "hello.lanes.period_us"),
    ],
)
def test_another_layout_or_rate_is_refused_by_name(changed, field):
    with pytest.raises(PreconditionFailed) as refused:
        check_hello(replace(HELLO, **changed), a_task())
    assert (refused.value.reason, refused.value.field) == ("SCHEMA_MISMATCH", field)


@pytest.mark.parametrize(
    "tensors",
    [
        {"observation": np.zeros((1, 11), np.float32)},
        {"observation": np.zeros((1, 12))},
        {"other": np.zeros((1, 11))},
        {"observation": np.zeros((1, 11)), "other": np.zeros((1, 11))},
        {},
    ],
)
def test_rows_that_are_not_as_declared_are_refused(tensors):
    with pytest.raises(InvalidRequest) as refused:
        Schema([SPEC]).check_observations(tensors)
    assert refused.value.reason == "INVALID_TENSOR"


def test_context_is_checked_where_it_is_given():
    schema = Schema([SPEC], [TensorSpec("maze", np.dtype(np.uint8), (4, 4))])
    schema.check(a_query())
    schema.check(replace(a_query(), context={"maze": np.zeros((1, 4, 4), np.uint8)}))
    with pytest.raises(InvalidRequest):
        schema.check(replace(a_query(), context={"maze": np.zeros((1, 4, 5), np.uint8)}))
