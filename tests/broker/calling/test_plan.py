"""A plan is followed in order, within its budgets, and every end is told apart."""

import asyncio

import pytest

from broker.accounts import Accounts
from broker.calling.plan import PlanFollower
from broker.calling.reserve import ExtraAttempts
from broker.calling.spend import spending
from broker.calling.timeout import timed
from broker.errors import DeadlineReached, OverBudget, Unavailable
from broker.events import AttemptEnded, AttemptStarted, Events
from broker.outcomes import AttemptOutcome
from broker.providers.making import Making
from broker.providers.rules import RulesSettings, make_rules
from broker.routing.interface import Plan, Step
from broker.routing.stats import Stats
from broker.testing import ManualClock, Scripted, scripted_provider, settle
from broker.timers.alarms import Alarms
from protos.types import Price, ProviderKind
from tests.broker.making import TASK, a_call, a_query, a_task

FAULT = Scripted(AttemptOutcome.PROVIDER_FAULT)
SILENT = Scripted(AttemptOutcome.NO_GUIDANCE)
LIMITED = Scripted(AttemptOutcome.RATE_LIMITED, retry_after_ms=300)
NEVER = Scripted(never=True)


class Purse(Accounts):
    """Accounts that remember; ``empty``: no budget is left for paid calls."""

    def __init__(self, empty=False):
        self.empty = empty
        self.open = {}
        self.settled = []

    def reserve(self, tenant, provider_id, amount_usd, ttl_s):
        if self.empty:
            raise OverBudget("the budget is used up")
        self.open[len(self.open) + 1] = provider_id
        return len(self.open)

    def charge(self, reservations): ...

    def settle(self, reservation, amount_usd):
        self.settled.append((self.open[reservation], amount_usd))

    def saved(self, tenant, provider_id, amount_usd, count): ...


class Stage:
    """Scripted sources under the layers of a real call, on a clock moved by hand."""

    def __init__(self, scripts, *, purse=None, prices=None, kinds=None, timeouts=None, **options):
        self.clock, self.events, self.purse = ManualClock(), [], purse or Purse()
        self.alarms = Alarms(self.clock)
        emit = Events([self.events.append]).emit
        self.sources, self.layered = {}, {}
        for name, script in scripts.items():
            source = scripted_provider(
                name,
                clock=self.clock,
                script=script,
                price=(prices or {}).get(name),
                kind=(kinds or {}).get(name, ProviderKind.POLICY),
                timeout_ms=(timeouts or {}).get(name, 5000),
            )
            self.sources[name] = source
            spent = spending(source, self.purse, self.clock, emit)
            self.layered[name] = timed(spent, self.clock, self.alarms)
        self.stats = Stats(self.clock)
        self.follower = PlanFollower(self.layered, self.stats, self.clock, emit, **options)

    def ask(self, plan, deadline=5.0):
        return asyncio.create_task(self.follower.follow(plan, a_query(), a_call(deadline)))

    async def asked(self, plan, deadline=5.0, seconds=10.0):
        task = self.ask(plan, deadline)
        await self.clock.advance(seconds)
        return await task

    def calls(self):
        return {name: len(source.calls) for name, source in self.sources.items()}

    def outcomes(self):
        return [(e.provider_id, e.outcome) for e in self.events if isinstance(e, AttemptEnded)]


@pytest.fixture
async def stage():
    made = []

    def make(scripts, **options):
        made.append(Stage(scripts, **options))
        return made[-1]

    yield make
    for stage in made:
        await stage.alarms.close()


def a_plan(attempts, fallback="", **more):
    return Plan("fixed", tuple(Step(name, 0.0, "") for name in attempts), fallback=fallback, **more)


async def test_the_first_that_answers_ends_it(stage):
    stage = stage({"a": [Scripted(actions=(0.5,))], "b": []})
    called = await stage.asked(a_plan("ab"))
    assert (called.provider_id, called.attempts, called.degraded) == ("a", 1, False)
    assert stage.calls() == {"a": 1, "b": 0}


@pytest.mark.parametrize(
    "first",
    [
        FAULT,
        SILENT,
        LIMITED,
        Scripted(AttemptOutcome.REFUSED),
        Scripted(AttemptOutcome.INVALID),
        Scripted(AttemptOutcome.MISCONFIGURED),
        Scripted(raises=ValueError("a bug")),
        Scripted(raises=asyncio.CancelledError()),
    ],
)
async def test_whatever_the_first_does_wrong_the_next_serves(stage, first):
    stage = stage({"a": [first], "b": [Scripted(actions=(0.25,))]})
    called = await stage.asked(a_plan("ab"))
    assert (called.provider_id, called.attempts) == ("b", 2)
    assert called.guided.guidance.actions.tolist() == [[0.25]]


async def test_every_started_attempt_is_ended_with_its_outcome(stage):
    stage = stage({"a": [FAULT], "b": [SILENT], "c": []})
    await stage.asked(a_plan("abc"))
    assert stage.outcomes() == [
        ("a", AttemptOutcome.PROVIDER_FAULT),
        ("b", AttemptOutcome.NO_GUIDANCE),
        ("c", AttemptOutcome.OK),
    ]
    assert sum(isinstance(event, AttemptStarted) for event in stage.events) == 3


async def test_three_attempts_are_the_budget_of_an_ask_the_fallback_included(stage):
    stage = stage({name: [FAULT] * 2 for name in "abcd"} | {"r": []})
    called = await stage.asked(a_plan("abcd", fallback="r"))
    assert stage.calls() == {"a": 1, "b": 1, "c": 0, "d": 0, "r": 1}
    assert (called.provider_id, called.attempts, called.degraded) == ("r", 3, True)


async def test_without_a_fallback_all_three_go_to_the_plan(stage):
    stage = stage({name: [FAULT] for name in "abcd"})
    with pytest.raises(Unavailable):
        await stage.asked(a_plan("abcd"), seconds=1)
    assert stage.calls() == {"a": 1, "b": 1, "c": 1, "d": 0}


async def test_extra_attempts_stop_when_the_broker_s_budget_for_them_is_used_up(stage):
    stage = stage({"a": [FAULT] * 9, "b": []}, extra=ExtraAttempts(share=0.0, at_most=1))
    assert (await stage.asked(a_plan("ab"), deadline=100, seconds=1)).provider_id == "b"
    with pytest.raises(Unavailable):
        await stage.asked(a_plan("ab"), deadline=100, seconds=1)
    assert stage.calls() == {"a": 2, "b": 1}


async def test_a_call_to_a_remote_source_leaves_time_for_the_fallback(stage):
    stage = stage({"a": [NEVER], "r": []}, kinds={"a": ProviderKind.REMOTE})
    task = stage.ask(a_plan("a", fallback="r"), deadline=1.0)
    await stage.clock.advance(0.89)
    assert not task.done()
    await stage.clock.advance(0.02)
    called = await task
    assert (called.provider_id, called.degraded) == ("r", True)
    assert stage.clock.now() < 1.0


async def test_a_source_that_could_not_finish_is_not_started(stage):
    stage = stage({"a": [Scripted(latency_s=0.2)] * 9, "b": []})
    for _ in range(7):
        await stage.asked(a_plan("a"), deadline=1e9, seconds=1)
    now = stage.clock.now()
    called = await stage.asked(a_plan("ab"), deadline=now + 0.1)
    assert (called.provider_id, called.attempts) == ("b", 1)
    assert stage.calls()["a"] == 7


async def test_a_deadline_that_passes_is_told_as_such(stage):
    stage = stage({"a": [NEVER]})
    with pytest.raises(DeadlineReached):
        await stage.asked(a_plan("a"), deadline=0.5)


async def test_nothing_tried_says_unavailable_at_once_and_why(stage):
    stage = stage({})
    plan = Plan("fixed", (), (Step("a", 0.0, "draining"),))
    with pytest.raises(Unavailable, match="a: draining") as error:
        await stage.asked(plan, seconds=0)
    assert error.value.retry_after_ms > 0


async def test_a_source_that_was_removed_since_is_passed_over(stage):
    stage = stage({"b": []})
    assert (await stage.asked(a_plan("ab"))).provider_id == "b"


# ------------------------------------------------------------ cooldowns


async def test_all_cooling_and_back_in_time_is_waited_for(stage):
    stage = stage({"a": [LIMITED, Scripted(actions=(1.0,))]})
    task = stage.ask(a_plan("a"))
    await stage.clock.advance(0.29)
    assert (task.done(), stage.calls()) == (False, {"a": 1})
    await stage.clock.advance(0.02)
    assert (await task).attempts == 2


async def test_a_retry_after_beyond_the_deadline_fails_over_now(stage):
    stage = stage({"a": [LIMITED], "b": []})
    called = await stage.asked(a_plan("ab"), deadline=0.2, seconds=0)
    assert called.provider_id == "b"


async def test_all_cooling_beyond_the_clock_falls_back_degraded_at_once(stage):
    stage = stage({"a": [LIMITED], "r": []})
    called = await stage.asked(a_plan("a", fallback="r"), deadline=0.2, seconds=0)
    assert (called.provider_id, called.degraded) == ("r", True)


async def test_all_cooling_without_a_fallback_is_unavailable_with_the_earliest_return_as_a_hint(stage):
    slow = Scripted(AttemptOutcome.RATE_LIMITED, retry_after_ms=10_000)
    slower = Scripted(AttemptOutcome.RATE_LIMITED, retry_after_ms=20_000)
    stage = stage({"a": [slow], "b": [slower]})
    with pytest.raises(Unavailable) as error:
        await stage.asked(a_plan("ab"), deadline=0.5, seconds=0)
    assert error.value.retry_after_ms == 10_000
    with pytest.raises(Unavailable) as error:
        await stage.asked(a_plan("", cooling=("a", "b")), deadline=0.5, seconds=0)
    assert error.value.retry_after_ms == 10_000
    assert stage.calls() == {"a": 1, "b": 1}


# ------------------------------------------------------------ money


async def test_all_that_an_ask_has_cost_is_on_its_answer(stage):
    prices = {"a": Price(usd_per_ask=0.25), "b": Price(usd_per_ask=0.5)}
    stage = stage({"a": [SILENT], "b": []}, prices=prices)
    called = await stage.asked(a_plan("ab"))
    assert called.charged_usd == 0.75
    assert stage.purse.settled == [("a", 0.25), ("b", 0.5)]


async def test_a_failed_call_costs_nothing_and_a_cut_one_what_its_source_says(stage):
    prices = {name: Price(0.25, billed_when_cancelled=name == "b") for name in "ab"}
    stage = stage({"a": [NEVER], "b": [NEVER], "c": []}, prices=prices, timeouts={"a": 100, "b": 100})
    called = await stage.asked(a_plan("abc"))
    assert called.charged_usd == 0.25
    assert stage.purse.settled == [("a", 0.0), ("b", 0.25)]


async def test_a_used_up_budget_still_lets_free_sources_serve(stage):
    stage = stage({"a": [], "r": []}, prices={"a": Price(1.0)}, purse=Purse(empty=True))
    called = await stage.asked(a_plan("a", fallback="r"))
    assert (called.provider_id, called.degraded) == ("r", True)
    assert stage.calls() == {"a": 0, "r": 1}


async def test_a_used_up_budget_and_nothing_free_is_over_budget(stage):
    stage = stage({"a": []}, prices={"a": Price(1.0)}, purse=Purse(empty=True))
    with pytest.raises(OverBudget):
        await stage.asked(a_plan("a"), seconds=0)


async def test_a_reply_that_cannot_be_used_is_still_told_and_priced_when_nothing_better_comes(stage):
    stage = stage({"a": [SILENT], "b": [FAULT]}, prices={"a": Price(0.25)})
    called = await stage.asked(a_plan("ab"), seconds=1)
    assert (called.guided.outcome, called.provider_id) == (AttemptOutcome.NO_GUIDANCE, "a")
    assert (called.charged_usd, called.attempts) == (0.25, 2)


# ------------------------------------------------------------ cancellation


async def test_a_cancelled_ask_frees_its_source_and_is_counted_as_cancelled(stage):
    stage = stage({"a": [NEVER], "b": []})
    task = stage.ask(a_plan("ab"))
    await settle()
    task.cancel()
    await settle()
    assert task.cancelled()
    assert stage.sources["a"].running == 0
    assert stage.outcomes() == [("a", AttemptOutcome.CANCELLED)]
    assert stage.stats.of("a").in_flight == 0
    assert stage.calls()["b"] == 0


async def test_no_attempt_is_left_in_flight_whatever_happens(stage):
    stage = stage({"a": [FAULT, SILENT, LIMITED, Scripted(raises=ValueError()), NEVER], "b": []})
    for _ in range(5):
        await stage.asked(a_plan("ab"), deadline=stage.clock.now() + 1e6, seconds=400)
    assert stage.stats.of("a").in_flight == stage.stats.of("b").in_flight == 0


# ------------------------------------------------------------ without waiting


def a_rule(rule):
    return make_rules(RulesSettings(id="r", kind="rules", rule=rule), Making(ManualClock(), {TASK: a_task()}))


def faulty(observations):
    raise ValueError


HERE = "tests.broker.calling.test_plan"


@pytest.mark.parametrize(("rule", "answers"), [("", True), (f"{HERE}:faulty", False)])
def test_a_free_source_that_never_waits_answers_on_the_spot_or_is_followed(rule, answers):
    events = []
    clock = ManualClock()
    follower = PlanFollower({"r": a_rule(rule)}, Stats(clock), clock, events.append)
    called = follower.follow_now(a_plan("r"), a_query(rows=2), a_call())
    assert (called is not None) is answers
    assert [type(event) for event in events] == [AttemptStarted, AttemptEnded]


def test_what_waits_or_costs_is_left_to_follow():
    clock = ManualClock()
    follower = PlanFollower({"a": scripted_provider("a")}, Stats(clock), clock, lambda event: None)
    assert follower.follow_now(a_plan("a"), a_query(), a_call()) is None
    assert follower.follow_now(a_plan(""), a_query(), a_call()) is None
