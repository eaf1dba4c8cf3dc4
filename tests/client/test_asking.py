"""What a session sends, and what a lane may act on when the answers come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from agents.client import GuidanceClient, LaneMisuse, Session
from protos import codec
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import (
    ActionAdvice,
    AnswerKind,
    AskOptions,
    AskOutcome,
    Chunk,
    Constraints,
    DropReason,
    Failure,
    GuidanceKind,
    LaneEventKind,
    NoneReason,
    ProviderState,
    ProviderUpdate,
    Reads,
    Subgoal,
    Subgoals,
    ValidWhile,
)
from tests.client.scripted_broker import ACTION, OBSERVATION, STRONG, ScriptedBroker, answer_to, lanes, silent

LEASE = AskOptions(provider_id="strong", hold_steps=3)
PLAIN = AskOptions(provider_id="strong")
WAIT_S = 10.0


def rows(count: int, value: float = 0.0) -> dict[str, np.ndarray]:
    return {"observation": np.full((count, 3), value)}


async def test_two_lanes_asked_together_are_one_message_and_both_are_advised(
    broker: ScriptedBroker, session: Session
) -> None:
    ids = session.ask([0, 1], [0, 0], rows(2), PLAIN)
    assert await session.settled([0, 1], [0, 0], WAIT_S)
    scripted = await broker.session()
    assert [list(batch.lane) for batch in scripted.asks] == [[0, 1]]
    advice = session.advice(1, 0)
    assert advice.action.tolist() == [0.5, 0.5]
    assert (advice.provider_id, advice.ask_id, advice.age_steps) == ("strong", ids[1], 0)
    assert session.outcome(ids[0]).outcome is AskOutcome.ANSWERED


async def test_asks_made_in_one_breath_travel_as_one_message_and_one_batch(
    broker: ScriptedBroker, session: Session
) -> None:
    session.ask([0], [0], rows(1, 1.0), PLAIN)
    session.ask([1], [0], rows(1, 2.0), PLAIN)
    await session.settled([0, 1], [0, 0], WAIT_S)
    scripted = await broker.session()
    assert len(scripted.asks) == 1
    observation = codec.decode_tensor(scripted.asks[0].observations["observation"], "o")
    assert observation[:, 0].tolist() == [1.0, 2.0]


async def test_clocks_are_always_set_and_the_loop_s_own_are_kept(
    broker: ScriptedBroker, session: Session
) -> None:
    session.ask([0], [0], rows(1), PLAIN)
    session.ask([1], [0], rows(1), AskOptions(provider_id="strong", first_answer_by_ms=7, final_by_ms=9))
    await session.settled([0, 1], [0, 0], WAIT_S)
    default, own = (batch.options for batch in (await broker.session()).asks)
    assert (default.first_answer_by_ms, default.final_by_ms) == (5_000, 5_000)
    assert (own.first_answer_by_ms, own.final_by_ms) == (7, 9)


async def test_the_caller_may_reuse_his_buffer_as_soon_as_ask_returns(
    broker: ScriptedBroker, session: Session
) -> None:
    buffer = np.ones((1, 3))
    session.ask([0], [0], {"observation": buffer}, PLAIN)
    buffer[:] = 9.0
    await session.settled([0], [0], WAIT_S)
    sent = codec.decode_tensor((await broker.session()).asks[0].observations["observation"], "o")
    assert sent.tolist() == [[1.0, 1.0, 1.0]]


async def test_a_lease_takes_one_observation_a_step_and_ends_after_its_last(
    broker: ScriptedBroker, session: Session
) -> None:
    (ask_id,) = session.ask([0], [4], rows(1), LEASE)
    for step in (4, 5, 6):
        assert session.observe([0], [step], rows(1)) == ([] if step == 4 else [0])
        assert await session.settled([0], [step], WAIT_S)
        advice = session.advice(0, step)
        assert advice.leased
        assert advice.ask_id == ask_id
        assert session.advice(0, step + 1) is None  # max_age_steps is 0
        session.constrain(0, step, advice.action)
    assert session.observe([0], [7], rows(1)) == []
    assert session.outcome(ask_id).charged_usd == pytest.approx(0.003)
    assert session.counts.lease_rows_sent == 2
    assert session.in_flight == 0


async def test_each_step_of_a_lease_goes_up_at_most_once(broker: ScriptedBroker, session: Session) -> None:
    session.ask([0], [0], rows(1), LEASE)
    assert session.observe([0], [1], rows(1)) == [0]
    assert session.observe([0], [1], rows(1)) == []


async def test_an_answer_is_used_while_it_is_no_older_than_max_age(
    broker: ScriptedBroker, session: Session
) -> None:
    session.ask([0], [0], rows(1), AskOptions(provider_id="strong", max_age_steps=2))
    await session.settled([0], [0], WAIT_S)
    ages = [session.advice(0, step) and session.advice(0, step).age_steps for step in range(4)]
    assert ages == [0, 1, 2, None]


async def test_the_lease_s_end_bounds_what_age_would_allow(broker: ScriptedBroker, session: Session) -> None:
    options = AskOptions(provider_id="strong", hold_steps=2, max_age_steps=9)
    session.ask([0], [0], rows(1), options)
    await session.settled([0], [0], WAIT_S)
    assert session.advice(0, 1).age_steps == 1
    assert session.advice(0, 2) is None


async def test_out_of_credits_sheds_here_and_says_so(broker: ScriptedBroker, session: Session) -> None:
    broker.on_message = silent
    broker.credits = 64
    ids = session.ask([0] * 66, range(66), rows(66), PLAIN)
    assert session.counts.local_sheds == 2
    assert session.outcome(ids[64]).outcome is AskOutcome.SHED
    assert session.outcome(ids[65]).failure.reason == "LOCAL_SHED"
    assert session.credits == 0
    assert not await session.settled([0], [0], 0.0)  # those that went are waited for
    assert await session.settled([0], [65], 0.0)  # those that were shed are not


async def test_credits_come_back_when_asks_end(broker: ScriptedBroker, session: Session) -> None:
    session.ask([0, 1], [0, 0], rows(2), PLAIN)
    assert session.credits == 62
    await session.settled([0, 1], [0, 0], WAIT_S)
    assert session.credits == 64


async def test_a_row_that_is_not_finite_is_refused_by_name_and_the_others_go(
    broker: ScriptedBroker, session: Session
) -> None:
    observations = np.zeros((2, 3))
    observations[1, 2] = np.nan
    ids = session.ask([0, 1], [0, 0], {"observation": observations}, PLAIN)
    await session.settled([0, 1], [0, 0], WAIT_S)
    assert session.advice(0, 0) is not None
    failed = session.outcome(ids[1])
    assert failed.outcome is AskOutcome.CALLER_FAULT
    assert failed.failure.message == "observations[observation] row 1, index 2 is not finite"


@pytest.mark.parametrize(
    ("observations", "message"),
    [
        ({"other": np.zeros((1, 3))}, "declared are"),
        ({"observation": np.zeros((2, 3))}, r"shape \(2, 3\)"),
        ({"observation": np.zeros((1, 4))}, r"shape \(1, 4\)"),
        ({"observation": np.array([["a", "b", "c"]], dtype=object)}, "object"),
    ],
)
async def test_columns_that_do_not_fit_raise_and_nothing_is_sent(
    session: Session, observations: dict[str, np.ndarray], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        session.ask([0], [0], observations, PLAIN)
    assert session.in_flight == 0


async def test_a_lane_without_an_episode_and_a_lane_nobody_declared_are_misuse(session: Session) -> None:
    session.end_episode(0)
    with pytest.raises(LaneMisuse, match="no open episode"):
        session.ask([0], [0], rows(1), PLAIN)
    with pytest.raises(LaneMisuse, match="lane 7 was not declared"):
        session.ask([7], [0], rows(1), PLAIN)


async def test_a_second_open_episode_is_misuse(session: Session) -> None:
    with pytest.raises(LaneMisuse, match="end it before starting 2"):
        session.start_episode(0, 2)


async def test_the_end_of_an_episode_and_the_next_one_s_ask_keep_their_order(
    broker: ScriptedBroker, session: Session
) -> None:
    session.ask([0], [9], rows(1), PLAIN)
    session.end_episode(0, truncated=True)
    session.start_episode(0, 2)
    session.ask([0], [0], rows(1), PLAIN)
    scripted = await broker.session()
    await scripted.asked(2)
    first, second = (message for message in scripted.received if message.asks)
    assert (list(first.asks[0].episode), len(first.episode_ends)) == ([1], 0)
    assert second.episode_ends[0].truncated
    assert second.episode_ends[0].lane_generation == second.asks[0].lane_generation[0] == 2
    assert (second.episode_starts[0].episode, list(second.asks[0].episode)) == (2, [2])


async def test_an_answer_of_the_episode_before_is_counted_and_kept_but_not_acted_on(
    broker: ScriptedBroker, session: Session
) -> None:
    broker.on_message = silent
    session.ask([0], [3], rows(1), PLAIN)
    scripted = await broker.session()
    await scripted.asked()
    session.end_episode(0)
    session.start_episode(0, 2)
    (ask_id,) = session.ask([0], [0], rows(1), PLAIN)
    await scripted.asked(2)
    scripted.answer(answer_to(scripted.asks[1], 0.1), answer_to(scripted.asks[0], 0.9), credits=2)
    await session.settled([0], [0], WAIT_S)
    assert session.advice(0, 0).ask_id == ask_id
    assert session.advice(0, 3) is None
    assert session.counts.stale == 1
    assert [(kept.why, kept.answer.steps[kept.row]) for kept in session.arrivals()] == [
        (DropReason.STALE_GENERATION, 3)
    ]


@pytest.mark.parametrize("kind", [LaneEventKind.FAULT, LaneEventKind.TAKEOVER, LaneEventKind.GOAL_CHANGED])
async def test_a_lane_event_voids_what_was_asked_before_it(
    broker: ScriptedBroker, session: Session, kind: LaneEventKind
) -> None:
    session.ask([0], [0], rows(1), LEASE)
    await session.settled([0], [0], WAIT_S)
    session.lane_event(0, kind, "goal")
    assert session.advice(0, 0) is None
    assert session.observe([0], [1], rows(1)) == []
    scripted = await broker.session()
    await scripted.until(lambda one: any(message.lane_events for message in one.received))
    assert scripted.received[-1].lane_events[0].lane_generation == 2


async def test_what_was_given_up_ends_as_cancelled_when_its_credit_comes_back(
    broker: ScriptedBroker, session: Session
) -> None:
    broker.on_message = silent
    (ask_id,) = session.ask([0], [0], rows(1), PLAIN)
    session.end_episode(0)
    assert session.outcome(ask_id) is None
    (await broker.session()).send(pb.SessionResponse(credits_returned=1))
    await _until(lambda: session.outcome(ask_id) is not None)
    assert session.outcome(ask_id).outcome is AskOutcome.CANCELLED
    assert session.counts.outcomes[AskOutcome.CANCELLED] == 1


async def test_a_late_answer_is_counted_kept_and_not_acted_on(
    broker: ScriptedBroker, session: Session
) -> None:
    broker.on_message = silent
    session.ask([0], [0], rows(1), PLAIN)
    session.constrain(0, 0, np.zeros(2))
    scripted = await broker.session()
    await scripted.asked()
    scripted.answer(answer_to(scripted.asks[0]), credits=1)
    await session.settled([0], [0], WAIT_S)
    assert session.advice(0, 0) is None
    assert session.counts.late == 1
    assert session.arrivals()[0].why is DropReason.LATE
    assert session.counts.charged_usd == {"strong": 0.001}


async def test_a_step_executed_without_the_leased_answer_is_starved_and_counted_once(
    broker: ScriptedBroker, session: Session
) -> None:
    broker.on_message = silent
    session.ask([0], [0], rows(1), LEASE)
    session.constrain(0, 0, np.zeros(2))
    session.constrain(0, 0, np.zeros(2))
    session.constrain(0, 1, np.zeros(2))
    assert session.counts.starved_steps == 2


async def test_pending_none_settles_the_wait_and_the_final_answer_still_counts(
    broker: ScriptedBroker, session: Session
) -> None:
    broker.on_message = silent
    (ask_id,) = session.ask([0], [0], rows(1), AskOptions(provider_id="strong", max_age_steps=5))
    scripted = await broker.session()
    await scripted.asked()
    nothing = {"kind": AnswerKind.NONE, "guidance": None, "none_reason": NoneReason.TIMEOUT, "prices_usd": ()}
    scripted.answer(answer_to(scripted.asks[0], pending=True, ended=False, **nothing))
    assert await session.settled([0], [0], WAIT_S)
    assert session.advice(0, 0) is None
    assert session.outcome(ask_id) is None
    scripted.answer(answer_to(scripted.asks[0]), credits=1)
    await _until(lambda: session.outcome(ask_id) is not None)
    assert session.advice(0, 1).age_steps == 1
    assert session.counts.outcomes == {AskOutcome.ANSWERED: 1}


async def test_predicted_then_corrected_is_one_outcome_and_the_correction_acts(
    broker: ScriptedBroker, session: Session
) -> None:
    broker.on_message = silent
    session.ask([0], [0], rows(1), PLAIN)
    scripted = await broker.session()
    await scripted.asked()
    batch = scripted.asks[0]
    scripted.answer(answer_to(batch, 0.1, kind=AnswerKind.PREDICTED, ended=False, seqs=[1]))
    scripted.answer(answer_to(batch, 0.2, kind=AnswerKind.CORRECTION, seqs=[2], supersedes=[1]), credits=1)
    await _until(lambda: session.in_flight == 0)
    assert session.advice(0, 0).action.tolist() == pytest.approx([0.2, 0.2])
    assert session.counts.outcomes == {AskOutcome.PREDICTED: 1}
    assert session.counts.answers == {AnswerKind.PREDICTED: 1, AnswerKind.CORRECTION: 1}


async def test_a_failed_row_is_settled_with_its_reason(broker: ScriptedBroker, session: Session) -> None:
    broker.on_message = silent
    (ask_id,) = session.ask([0], [0], rows(1), PLAIN)
    scripted = await broker.session()
    await scripted.asked()
    failure = Failure(0, ask_id, 1, 0, 8, "OVER_BUDGET", "no budget", outcome=AskOutcome.OVER_BUDGET)
    scripted.send(pb.SessionResponse(failures=[codec.failure_to_proto(failure)], credits_returned=1))
    assert await session.settled([0], [0], WAIT_S)
    assert session.outcome(ask_id).failure.reason == "OVER_BUDGET"
    assert session.counts.outcomes == {AskOutcome.OVER_BUDGET: 1}


async def test_a_lapsed_lease_takes_no_more_rows(broker: ScriptedBroker, session: Session) -> None:
    (ask_id,) = session.ask([0], [0], rows(1), LEASE)
    await session.settled([0], [0], WAIT_S)
    broker.on_message = silent
    assert session.observe([0], [1], rows(1)) == [0]
    failure = Failure(0, ask_id, 1, 1, 9, "LEASE_ENDED", "no such lease is open", ended=False)
    (await broker.session()).send(pb.SessionResponse(failures=[codec.failure_to_proto(failure)]))
    assert await session.settled([0], [1], WAIT_S)
    assert session.outcome(ask_id) is not None
    assert session.observe([0], [2], rows(1)) == []


async def test_a_cancelled_lease_is_told_to_the_broker_and_stops_sending(
    broker: ScriptedBroker, session: Session
) -> None:
    (ask_id,) = session.ask([0], [0], rows(1), LEASE)
    await session.settled([0], [0], WAIT_S)
    session.cancel(ask_id)
    assert session.observe([0], [1], rows(1)) == []
    scripted = await broker.session()
    await scripted.until(lambda one: any(message.cancels for message in one.received))
    assert scripted.received[-1].cancels[0].ask_id == ask_id


async def test_chunks_act_by_control_step_and_the_lane_s_rule(
    broker: ScriptedBroker, session: Session
) -> None:
    def chunks(one: object, message: pb.SessionRequest) -> None:
        for batch in message.asks:
            chunk = Chunk(np.full((1, 3, 2), batch.step[0] + 0.5), [batch.step[0]], 8_000)
            one.answer(answer_to(batch, guidance=chunk), credits=1)

    broker.on_message = chunks
    session.ask([0], [0], rows(1), PLAIN)
    await session.settled([0], [0], WAIT_S)
    assert [session.advice(0, step) is not None for step in range(4)] == [True, True, True, False]
    assert session.runway_steps(0, 1) == 2
    session.ask([0], [2], rows(1), PLAIN)
    await session.settled([0], [2], WAIT_S)
    assert session.advice(0, 2).action.tolist() == [2.5, 2.5]
    assert list((await broker.session()).asks[1].runway_steps) == [1]


async def test_what_is_left_of_a_chunk_is_abandoned_when_the_observation_leaves_its_tube(
    broker: ScriptedBroker, session: Session
) -> None:
    chunk = Chunk(np.zeros((1, 4, 2)), [0], 8_000)
    tube = ValidWhile("observation", np.zeros((4, 3)), (0.5, 0.5, 0.5))
    broker.on_message = lambda one, message: [
        one.answer(answer_to(batch, guidance=chunk, valid_while=tube), credits=1) for batch in message.asks
    ]
    session.ask([0], [0], rows(1), PLAIN)
    await session.settled([0], [0], WAIT_S)
    session.observe([0], [1], rows(1, 0.4))
    assert session.advice(0, 1) is not None
    session.observe([0], [2], rows(1, 0.6))
    assert session.advice(0, 2) is None
    assert session.counts.abandoned == 1


async def test_a_source_that_reads_a_prefix_is_told_what_the_lane_will_do_and_for_how_long(
    broker: ScriptedBroker, client: GuidanceClient
) -> None:
    broker.providers = (replace(STRONG, reads=Reads(prefix=True)),)
    broker.on_message = lambda one, message: [
        one.answer(answer_to(batch, guidance=Chunk(np.ones((1, 3, 2)), [0], 8_000)), credits=1)
        for batch in message.asks
    ]
    session = await client.open_session("task", [OBSERVATION], ACTION, lanes(1), connect_timeout_s=WAIT_S)
    session.start_episode(0, 1)
    session.ask([0], [0], rows(1), PLAIN)
    await session.settled([0], [0], WAIT_S)
    session.ask([0], [1], rows(1), PLAIN)
    first, second = await (await broker.session()).asked(2)
    assert list(first.prefix[0].actions.shape) == [0, 2]
    prefix = second.prefix[0]
    assert (list(prefix.actions.shape), prefix.first_step, prefix.committed) == ([2, 2], 1, 1)
    assert list(second.expected_delay_steps) == [1]


async def test_subgoals_are_held_until_something_newer_comes(
    broker: ScriptedBroker, session: Session
) -> None:
    broker.on_message = lambda one, message: [
        one.answer(answer_to(batch, guidance=Subgoals((Subgoal((1.0,), 0.1),))), credits=1)
        for batch in message.asks
    ]
    session.ask([0], [0], rows(1), PLAIN)
    await session.settled([0], [0], WAIT_S)
    held = session.held(0, GuidanceKind.SUBGOALS)
    assert held.answer.guidance == Subgoals((Subgoal((1.0,), 0.1),))


async def test_the_provider_table_is_live(broker: ScriptedBroker, session: Session) -> None:
    assert [view.provider_id for view in session.providers] == ["strong"]
    update = ProviderUpdate("strong", ProviderState.COOLING, price=STRONG.price, config_generation=1)
    message = pb.SessionResponse(provider_updates=[codec.provider_update_to_proto(update)])
    (await broker.session()).send(message)
    await _until(lambda: session.providers.get("strong").update is not None)
    assert not session.providers.get("strong").ready
    snapshot = session.providers.snapshot(["strong", "unknown"])
    assert snapshot.ready.tolist() == [False, False]
    assert snapshot.usd_per_leased_step.tolist() == [0.001, 0.0]


async def test_a_part_that_breaks_the_contract_is_counted_and_the_rest_is_taken(
    broker: ScriptedBroker, session: Session
) -> None:
    broker.on_message = silent
    session.ask([0], [0], rows(1), PLAIN)
    scripted = await broker.session()
    await scripted.asked()
    broken = codec.answer_to_proto(answer_to(scripted.asks[0]))
    broken.lane.append(7)
    sound = codec.answer_to_proto(answer_to(scripted.asks[0]))
    scripted.send(pb.SessionResponse(answers=[broken, sound], credits_returned=1))
    assert await session.settled([0], [0], WAIT_S)
    assert session.counts.malformed == 1
    assert session.advice(0, 0) is not None


async def test_an_answer_of_another_session_generation_is_not_acted_on(
    broker: ScriptedBroker, session: Session
) -> None:
    broker.on_message = silent
    session.ask([0], [0], rows(1), PLAIN)
    scripted = await broker.session()
    await scripted.asked()
    scripted.answer(answer_to(scripted.asks[0], session_generation=99), credits=1)
    await session.settled([0], [0], WAIT_S)
    assert session.advice(0, 0) is None
    assert session.counts.stale == 1


async def test_constraints_reach_the_lanes_they_name_and_act_on_own_actions_too(
    broker: ScriptedBroker, session: Session
) -> None:
    bounds = Constraints(lanes=(1,), low=(0.0,), high=(0.5,), source="task")
    message = pb.SessionResponse(constraints=[codec.constraints_to_proto(bounds)])
    message.pushes.add(stop=True, lane=[0])
    (await broker.session()).send(message)
    await _until(lambda: session.constrain(0, 0, np.ones(2))[1].stopped)
    action, verdict = session.constrain(1, 0, np.ones(2))
    assert action.tolist() == [0.5, 0.5]
    assert verdict.clipped


async def test_an_answer_is_shown_to_the_listener_even_when_nobody_can_act_on_it(
    broker: ScriptedBroker, session: Session
) -> None:
    heard: list[float] = []
    session.listen(lambda answer: heard.extend(answer.prices_usd))
    session.ask([0], [0], rows(1), PLAIN)
    await session.settled([0], [0], WAIT_S)
    assert heard == [0.001]


async def test_discrete_advice_is_an_integer(broker: ScriptedBroker, session: Session) -> None:
    broker.on_message = lambda one, message: [
        one.answer(answer_to(batch, guidance=ActionAdvice(np.array([3]), discrete=True)), credits=1)
        for batch in message.asks
    ]
    session.ask([0], [0], rows(1), PLAIN)
    await session.settled([0], [0], WAIT_S)
    assert int(session.advice(0, 0).action) == 3


async def _until(holds: Callable[[], bool]) -> None:
    """Let the loop turn until something is so."""
    async with asyncio.timeout(WAIT_S):
        while not holds():  # noqa: ASYNC110 - the session has no event for each thing that a test can ask
            await asyncio.sleep(0)
