"""What goes over the wire comes back the same, and what breaks the contract is refused by name."""

import dataclasses
import math

import numpy as np
import pytest

from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import (
    ActionAdvice,
    Answer,
    AnswerKind,
    AskMode,
    AskOptions,
    BoxAction,
    CacheStatus,
    Chunk,
    Constraints,
    DiscreteAction,
    Goal,
    GuidanceKind,
    HalfSpace,
    Hello,
    LaneSpec,
    LatencyQuantiles,
    LeaseRows,
    Limits,
    Merge,
    MergeRule,
    NoneReason,
    OperatorPush,
    Outcome,
    Plan,
    PredictionQuality,
    Prefix,
    PrefixKind,
    Price,
    Priority,
    ProviderInfo,
    ProviderKind,
    ProviderState,
    ProviderUpdate,
    Query,
    Reads,
    Residual,
    ShapingForm,
    ShapingTerm,
    ShapingTerms,
    SimState,
    Skill,
    StateScope,
    Subgoal,
    Subgoals,
    TensorSpec,
    Timing,
    ValidWhile,
    Welcome,
)


def same(left, right) -> bool:
    """Equality that looks into arrays, dataclasses and mappings."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and np.array_equal(left, right)
    if dataclasses.is_dataclass(left):
        return type(left) is type(right) and all(
            same(getattr(left, f.name), getattr(right, f.name)) for f in dataclasses.fields(left)
        )
    if hasattr(left, "items"):
        return set(left) == set(right) and all(same(left[k], right[k]) for k in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def full_query() -> Query:
    return Query(
        options=AskOptions(
            provider_id="planner",
            kinds=frozenset({GuidanceKind.CHUNK, GuidanceKind.ACTION}),
            mode=AskMode.CACHE_ONLY,
            first_answer_by_ms=20,
            final_by_ms=900,
            max_price_usd=0.25,
            accept_predicted=True,
            hold_steps=5,
            max_age_steps=1,
            goal=Goal("g1", "reach the door", {"xy": np.array([10.0, 10.0])}),
            priority=Priority.URGENT,
        ),
        lanes=[0, 3],
        ask_ids=[2**63, 7],
        episodes=[1, 9],
        steps=[0, 44],
        observations={"observation": np.arange(6.0).reshape(2, 3), "image": np.zeros((2, 2, 2), np.uint8)},
        lane_generations=[1, 4],
        context={"layout": np.ones((2, 4), np.float32)},
        history={"past": np.ones((2, 3, 2), np.float32)},
        sim_state=SimState(np.ones((2, 5)), 8191, "hopper"),
        prefix=[Prefix(np.ones((n, 3), np.float32), 45, 1, PrefixKind.OWN_POLICY_GUESS) for n in (1, 4)],
        expected_delay_steps=[0, 2],
        runway_steps=[3, 0],
        obs_time_ns=[5, -6],
        value_at_stake_usd=[0.5, 0.0],
    )


def full_answer(guidance) -> Answer:
    return Answer(
        kind=AnswerKind.CORRECTION,
        provider_ids=("strong", "rule"),
        session_generation=3,
        lanes=[1],
        ask_ids=[5],
        episodes=[2],
        steps=[8],
        lane_generations=[4],
        seqs=[10],
        supersedes=[9],
        obs_time_ns=[77],
        prices_usd=[0.001],
        confidence=[0.5],
        guidance=guidance,
        ended=True,
        cache_status=CacheStatus.COALESCED,
        age_ms=3,
        attempts=2,
        hedged=True,
        degraded=True,
        leased=True,
        overhead_us=55,
        timing=Timing(1, 2, 3),
        goal_id="g1",
        valid_while=ValidWhile("observation", np.zeros((2, 3)), (0.1, 0.1, 0.2)),
    )


GUIDANCE = [
    ActionAdvice(np.array([[0.5, -0.5]], np.float32)),
    ActionAdvice(np.array([3]), discrete=True),
    Chunk(
        np.zeros((1, 4, 2)),
        [7],
        8000,
        conditioned_prefix=2,
        valid_dims=(True, False),
        merge_hint=Merge(MergeRule.CROSSFADE, 3, 0.25),
    ),
    Subgoals((Subgoal((1.0, 2.0), 0.5, 2.0, "world", 40),)),
    Subgoals(()),
    Skill("open", {"speed": 0.5}),
    ShapingTerms(
        (ShapingTerm(ShapingForm.TARGET, "observation", (0, 1), (1.0,), (10.0, 10.0), 2.0, 0.5, 3.0),)
    ),
    Constraints(
        (0,), (-1.0,), (1.0,), (True,), (HalfSpace((1.0,), 0.5),), False, 2.0, (0.0,), 500, 3, "task"
    ),
    Plan(("walk", "stop")),
    Residual(9, 2, np.array([0.1, 0.2])),
]


def test_a_query_with_every_field_comes_back_the_same():
    query = full_query()
    wire = codec.query_to_proto(query).SerializeToString()
    assert same(codec.query_from_proto(pb.AskBatch.FromString(wire), 10), query)


@pytest.mark.parametrize("guidance", GUIDANCE, ids=lambda g: type(g).__name__)
def test_an_answer_with_every_field_comes_back_the_same(guidance):
    answer = full_answer(guidance)
    wire = codec.answer_to_proto(answer).SerializeToString()
    assert same(codec.answer_from_proto(pb.AnswerBatch.FromString(wire)), answer)


def test_none_carries_its_reason():
    answer = Answer(AnswerKind.NONE, (), [0], [1], [1], [1], none_reason=NoneReason.TIMEOUT, pending=True)
    assert same(codec.answer_from_proto(codec.answer_to_proto(answer)), answer)


def test_the_session_frame_comes_back_the_same():
    spec = TensorSpec("observation", np.dtype("<f8"), (3,), (-1.0,), (1.0,), "m", (4,))
    box = BoxAction((2,), (-1.0, -2.0), (1.0, 2.0), ("hip", "knee"))
    lane = LaneSpec(4, 8000, ("hip", "knee"), Merge(MergeRule.WEIGHTED, 0, 0.7), (True, False))
    hello = Hello("a", "hopper", (spec,), box, (lane,), (spec,), "1.0")
    assert same(codec.hello_from_proto(codec.hello_to_proto(hello)), hello)
    info = ProviderInfo(
        "strong",
        ProviderKind.POLICY,
        frozenset({GuidanceKind.ACTION}),
        Price(0.1, 0.2, 0.3, 0.4, True),
        ("hopper",),
        (spec,),
        DiscreteAction(4, 1),
        50,
        2,
        StateScope.EPISODE,
        3,
        8000,
        "v1",
        ("hip",),
        2,
        Reads(True, False, True, False),
        ("context",),
        True,
    )
    welcome = Welcome(2, "b", 3, (info,), 64, Limits(1, 2, 3, 4))
    assert same(codec.welcome_from_proto(codec.welcome_to_proto(welcome)), welcome)
    update = ProviderUpdate(
        "strong",
        ProviderState.COOLING,
        0.5,
        LatencyQuantiles(1.0, 2.0, 3.0, 4),
        Price(0.1),
        5,
        6,
        PredictionQuality(0.9, 0.1, 0.2),
        7,
        info,
    )
    assert same(codec.provider_update_from_proto(codec.provider_update_to_proto(update)), update)
    outcome = Outcome(1, 2, True, 0.5, 3, 1.0, 2.0, 3.0, 4.0, True, 5, 6, 7, 8, 9, 10, 11)
    assert same(codec.outcome_from_proto(codec.outcome_to_proto(outcome)), outcome)
    rows = LeaseRows([1], [2], [3], {"observation": np.zeros((1, 3))}, [4])
    assert same(codec.lease_rows_from_proto(codec.lease_rows_to_proto(rows), 1), rows)
    for push in (OperatorPush(stop=False, lanes=(1,), reason="r"), OperatorPush(guidance=Plan(("a",)))):
        assert same(codec.operator_push_from_proto(codec.operator_push_to_proto(push)), push)


def test_any_memory_order_travels_as_the_same_bytes():
    c_order = np.arange(24.0).reshape(6, 4)
    views = [np.asfortranarray(c_order), np.arange(48.0).reshape(6, 8)[:, ::2] / 2, c_order.astype(">f8")]
    views[1] = np.ascontiguousarray(c_order)[::-1][::-1]
    for view in views:
        assert codec.encode_tensor(view) == codec.encode_tensor(c_order)


@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        (lambda m: m.lane.append(1), "lane", "INVALID_COLUMN"),
        (lambda m: m.runway_steps.pop(), "runway_steps", "INVALID_COLUMN"),
        (lambda m: m.value_at_stake_usd.append(1.0), "value_at_stake_usd", "INVALID_COLUMN"),
        (lambda m: m.value_at_stake_usd.__setitem__(0, math.nan), "value_at_stake_usd", "NON_FINITE"),
        (lambda m: m.observations.clear(), "observations", "MISSING_FIELD"),
        (lambda m: m.ask_id.__delitem__(slice(None)), "ask_id", "MISSING_FIELD"),
        (lambda m: setattr(m.options, "mode", 99), "options.mode", "INVALID_ENUM"),
        (lambda m: m.options.kinds.append(77), "options.kinds", "INVALID_ENUM"),
        (lambda m: setattr(m.options, "max_price_usd", -1.0), "options.max_price_usd", "INVALID_VALUE"),
        (lambda m: setattr(m.options, "max_price_usd", math.inf), "options.max_price_usd", "INVALID_VALUE"),
        (lambda m: setattr(m.options, "final_by_ms", 0), "options.final_by_ms", "INVALID_VALUE"),
        (lambda m: setattr(m.options.goal, "text", "x" * 5000), "options.goal.text", "INVALID_VALUE"),
        (
            lambda m: setattr(m.observations["observation"], "data", b"123"),
            "observations[observation].data",
            "INVALID_TENSOR",
        ),
        (
            lambda m: setattr(m.observations["observation"], "dtype", 0),
            "observations[observation].dtype",
            "INVALID_TENSOR",
        ),
        (
            lambda m: m.observations["observation"].shape.__setitem__(0, -2),
            "observations[observation].shape",
            "INVALID_TENSOR",
        ),
        (
            lambda m: setattr(m.observations["image"], "encoding", pb.ENCODING_JPEG),
            "observations[image].encoding",
            "INVALID_TENSOR",
        ),
        (
            lambda m: m.observations["observation"].shape.__setitem__(slice(None), [3, 2]),
            "observations[observation].shape",
            "INVALID_TENSOR",
        ),
        (lambda m: setattr(m.prefix[0], "committed", 9), "prefix[0].committed", "INVALID_VALUE"),
        (
            lambda m: m.sim_state.state.shape.__setitem__(slice(None), [10]),
            "sim_state.state",
            "INVALID_TENSOR",
        ),
    ],
)
def test_a_broken_ask_is_refused_by_the_name_of_its_field(change, field, reason):
    message = codec.query_to_proto(full_query())
    change(message)
    with pytest.raises(codec.ContractError) as caught:
        codec.query_from_proto(message, 10)
    assert (caught.value.field, caught.value.reason) == (field, reason)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_non_finite_observation_is_refused_with_row_and_index(bad, dtype):
    values = np.zeros((3, 4), dtype)
    values[2, 1] = bad
    query = Query(AskOptions(), [0] * 3, [1, 2, 3], [0] * 3, [0] * 3, {"observation": values})
    with pytest.raises(codec.ContractError, match=r"observations\[observation\]: row 2, index \[1\]"):
        codec.query_from_proto(codec.query_to_proto(query), 10)


def test_huge_finite_numbers_are_finite():
    codec.require_finite(np.full((4, 4), np.finfo(np.float64).max), "x")


def test_too_many_rows_are_refused_with_the_limit():
    with pytest.raises(codec.ContractError, match="2 rows; at most 1"):
        codec.query_from_proto(codec.query_to_proto(full_query()), 1)


def test_object_arrays_cannot_travel():
    with pytest.raises(codec.ContractError, match="dtype object cannot travel"):
        codec.encode_tensor(np.array([object()]))


def test_remembered_options_do_not_leak_between_different_asks():
    for hold in (1, 2, 1):
        message = codec.options_to_proto(AskOptions(hold_steps=hold))
        assert codec.options_from_proto(message).hold_steps == hold


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (pb.Constraints(low=[0.0], high=[]), "constraints.high"),
        (pb.Constraints(low=[1.0], high=[0.0]), "constraints.low"),
        (pb.Constraints(low=[math.nan], high=[0.0]), "constraints.low"),
        (pb.Constraints(safe_action=[math.inf]), "constraints.safe_action"),
        (pb.Constraints(half_spaces=[pb.HalfSpace(normal=[math.nan])]), "constraints.half_spaces"),
    ],
)
def test_broken_constraints_are_refused(message, text):
    with pytest.raises(codec.ContractError, match=text):
        codec.constraints_from_proto(message)


def test_a_plan_cannot_answer_two_rows():
    with pytest.raises(codec.ContractError, match="one row"):
        codec.guidance_from_proto(pb.Guidance(plan=pb.Plan(steps=["a"])), 2)


def test_taking_rows_keeps_every_column_together():
    query = full_query()
    second = query.take([1])
    assert (second.ask_ids, second.steps, second.runway_steps) == ([7], [44], [0])
    assert np.array_equal(second.observations["observation"], [[3.0, 4.0, 5.0]])
    assert second.sim_state.state.shape == (1, 5)
    assert query.take([0, 1]) is query
