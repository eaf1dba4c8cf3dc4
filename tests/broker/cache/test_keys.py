"""Which requests are the same to a source."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from broker.cache.canonical import canonical
from broker.cache.keys import DENIED_COLUMNS, DENIED_OPTIONS, key_scope, row_keys
from protos.types import (
    AskMode,
    AskOptions,
    BoxAction,
    Goal,
    GuidanceKind,
    Prefix,
    PrefixKind,
    Priority,
    ProviderInfo,
    ProviderKind,
    Query,
    Reads,
    SimState,
    TensorSpec,
)

SPECS = (TensorSpec("obs", np.dtype(np.float32), (2,)),)


def info(provider_id: str = "llm", **changes) -> ProviderInfo:
    return ProviderInfo(provider_id, ProviderKind.REMOTE, frozenset({GuidanceKind.ACTION}), **changes)


def scope(tenant="acme", task="hopper", specs=SPECS, action=None, provider=None, generation=1):
    return key_scope(tenant, task, specs, action, provider or info(), generation)


def query(observation, options=AskOptions(), **columns) -> Query:  # noqa: B008 - frozen
    rows = len(observation)
    given = {"lanes": range(rows), "ask_ids": range(rows), "episodes": [0] * rows, "steps": [0] * rows}
    return Query(options, observations={"obs": np.asarray(observation)}, **{**given, **columns})


def key(observation, options=AskOptions(), where=None, **columns) -> bytes | None:  # noqa: B008 - frozen
    (only,) = row_keys(query(observation, options, **columns), where or scope())
    return only


ROW = np.array([[0.5, 1.0]], np.float32)


@pytest.mark.parametrize(
    "other",
    [
        ROW.astype(np.float64),
        ROW.astype(np.float16),
        ROW.view(np.int32),
        ROW.reshape(1, 2, 1),
        ROW.reshape(1, 1, 2),
        ROW[:, ::-1],
        np.array([[0.5, 1.0000001]], np.float32),
    ],
    ids=["float64", "float16", "same bytes as int32", "(2,1)", "(1,2)", "reversed", "next float"],
)
def test_what_differs_in_dtype_shape_or_any_number_is_another_question(other):
    assert key(other) != key(ROW)


def test_signed_and_unsigned_bytes_are_apart():
    unsigned = np.array([[200]], np.uint8)
    assert key(unsigned) != key(unsigned.view(np.int8))


def test_the_transposed_shape_is_another_question():
    matrix = np.arange(24, dtype=np.float32)
    assert key(matrix.reshape(1, 6, 4)) != key(matrix.reshape(1, 4, 6))


@pytest.mark.parametrize(
    "copy",
    [
        lambda m: np.asfortranarray(m),
        lambda m: np.repeat(m, 2, axis=2)[:, :, ::2],
        lambda m: m.astype(m.dtype.newbyteorder(">")),
        lambda m: np.ascontiguousarray(m.swapaxes(1, 2)).swapaxes(1, 2),
    ],
    ids=["Fortran order", "strided view", "big-endian", "swapped back"],
)
def test_memory_order_is_no_part_of_the_question(copy):
    matrix = np.random.default_rng(0).normal(size=(3, 6, 4)).astype(np.float32)
    assert row_keys(query(copy(matrix)), scope()) == row_keys(query(matrix), scope())


def test_minus_zero_is_zero():
    assert key(np.array([[-0.0, 1.0]])) == key(np.array([[0.0, 1.0]]))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_has_no_key_and_its_neighbours_have(value):
    keys = row_keys(query(np.array([[0.0, 1.0], [value, 1.0], [0.0, 1.0]])), scope())
    assert keys[1] is None
    assert keys[0] == keys[2] is not None


def test_an_object_array_is_refused():
    with pytest.raises(TypeError):
        key(np.array([[0.5, None]], object))


def test_rows_are_keyed_as_if_alone():
    batch = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
    assert row_keys(query(batch), scope()) == [key(batch[i : i + 1]) for i in range(5)]


@pytest.mark.parametrize(
    "changes",
    [
        {"lanes": [7]},
        {"ask_ids": [99]},
        {"episodes": [3]},
        {"steps": [17]},
        {"lane_generations": [2]},
        {"obs_time_ns": [123]},
        {"value_at_stake_usd": [0.5]},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_who_asks_and_when_is_no_part_of_the_question(changes):
    assert key(ROW, **changes) == key(ROW)


@pytest.mark.parametrize(
    "options",
    [
        AskOptions(provider_id="llm"),
        AskOptions(mode=AskMode.CACHE_ONLY),
        AskOptions(first_answer_by_ms=5, final_by_ms=9),
        AskOptions(max_price_usd=0.1),
        AskOptions(priority=Priority.URGENT),
        AskOptions(accept_predicted=True),
    ],
)
def test_how_long_it_may_take_and_cost_is_no_part_of_the_question(options):
    assert key(ROW, options) == key(ROW)


@pytest.mark.parametrize(
    "options",
    [
        AskOptions(kinds=frozenset({GuidanceKind.CHUNK})),
        AskOptions(hold_steps=3),
        AskOptions(max_age_steps=1),
        AskOptions(goal=Goal("g")),
        AskOptions(goal=Goal("", "reach the door")),
        AskOptions(goal=Goal("", "", {"xy": np.array([1.0, 2.0])})),
    ],
)
def test_what_is_wanted_is_part_of_the_question(options):
    assert key(ROW, options) != key(ROW)


@pytest.mark.parametrize(
    "where",
    [
        {"tenant": "other"},
        {"task": "walker"},
        {"specs": (TensorSpec("obs", np.dtype(np.float32), (2,), unit="m"),)},
        {"action": BoxAction((1,), (-1.0,), (1.0,))},
        {"provider": info("other")},
        {"generation": 2},
    ],
    ids=lambda where: next(iter(where)),
)
def test_a_key_is_good_for_one_tenant_task_schema_source_and_configuration(where):
    assert key(ROW, where=scope(**where)) != key(ROW)


PREFIX = Prefix(np.array([[0.1]]), first_step=0, committed=1, kind=PrefixKind.EXECUTING)
SIM = SimState(np.array([[1.0, 2.0]]), spec=3, model_id="hopper")
OPTIONAL = {
    "prefix": ({"prefix": [PREFIX]}, Reads(prefix=True)),
    "delay": ({"expected_delay_steps": [2]}, Reads(prefix=True)),
    "runway": ({"runway_steps": [2]}, Reads(prefix=True)),
    "sim_state": ({"sim_state": SIM}, Reads(sim_state=True)),
    "context": ({"context": {"maze": np.ones((1, 3))}}, Reads(context=True)),
    "history": ({"history": {"obs": np.ones((1, 4, 2))}}, Reads(history=True)),
}


@pytest.mark.parametrize(("columns", "reads"), OPTIONAL.values(), ids=OPTIONAL)
def test_what_a_source_does_not_read_is_no_part_of_the_question_and_what_it_reads_is(columns, reads):
    assert key(ROW, **columns) == key(ROW)
    reader = scope(provider=info(reads=reads))
    assert key(ROW, where=reader, **columns) != key(ROW, where=reader)


def test_a_source_can_name_single_columns():
    reader = scope(provider=info(key_fields=("runway_steps",)))
    assert key(ROW, where=reader, runway_steps=[1]) != key(ROW, where=reader, runway_steps=[2])
    assert key(ROW, where=reader, expected_delay_steps=[1]) == key(ROW, where=reader)


def test_a_prefix_counts_from_its_own_step():
    reader = scope(provider=info(reads=Reads(prefix=True)))
    later = dataclasses.replace(PREFIX, first_step=10)
    assert key(ROW, where=reader, steps=[10], prefix=[later]) == key(ROW, where=reader, prefix=[PREFIX])
    assert key(ROW, where=reader, steps=[9], prefix=[later]) != key(ROW, where=reader, prefix=[PREFIX])


def test_the_deny_lists_name_fields_that_exist():
    assert {field.name for field in dataclasses.fields(AskOptions)} >= DENIED_OPTIONS
    assert {field.name for field in dataclasses.fields(Query)} >= DENIED_COLUMNS


def test_neighbouring_texts_do_not_run_into_each_other():
    assert key(ROW, AskOptions(goal=Goal("ab", "c"))) != key(ROW, AskOptions(goal=Goal("a", "bc")))
    assert canonical(("ab", "c")) != canonical(("a", "bc"))
    assert canonical((1, 23)) != canonical((12, 3))
    assert canonical(1) != canonical(1.0) != canonical("1")
    assert canonical(True) != canonical(1)


@given(arrays.arrays(np.float32, (2, 3), elements=st.floats(-1e6, 1e6, width=32)))
def test_two_rows_have_one_key_exactly_when_they_are_equal(rows):
    first, second = row_keys(query(rows), scope())
    assert (first == second) == bool((rows[0] == rows[1]).all())
