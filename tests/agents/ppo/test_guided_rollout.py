"""The guided path of a rollout: what is masked, what is counted, and which column everything lands in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from agents.networks import ActorCritic
from agents.normalise import RunningNorm
from agents.ppo import losses
from agents.ppo.config import PPOConfig
from agents.ppo.learner import Learner, prepare
from agents.ppo.rollout import Columns, Rollout
from agents.query import (
    ALONE,
    Advice,
    Always,
    Amendment,
    Decision,
    Density,
    EveryN,
    Never,
    QueryPolicy,
    StepContext,
)
from agents.vector import VectorEnv, from_gymnasium
from tests.agents.scripted_guide import Drift, ScriptedGuide

LANES, STEPS = 3, 30
CONFIG = PPOConfig(envs=LANES, rollout_steps=STEPS, hidden=(8, 8), members=2, minibatch=32, epochs=1)


def push(context: StepContext, advice: Advice) -> Advice:
    """Replace every held step by a full push to the right; a deterministic action has no density."""
    return replace(advice, replaced=advice.ask_id > 0, action=np.ones_like(context.own_action))


def collected(
    query: QueryPolicy, guide: ScriptedGuide | None, env: VectorEnv | None = None
) -> tuple[Columns, Rollout]:
    rng = np.random.default_rng(0)
    networks = ActorCritic(2, 1, CONFIG.hidden, CONFIG.members, prior_scale=0.3)
    networks.initialise(rng, -0.5)
    norm = RunningNorm((2,))
    norm.update(rng.standard_normal((50, 2)))
    rollout = Rollout(env or VectorEnv(Drift, LANES, 0), networks, norm, rng, query, guide)
    columns = Columns(STEPS, LANES, 2, 1)
    rollout.collect(columns)
    return columns, rollout


def prepared(columns: Columns, rollout: Rollout):  # type: ignore[no-untyped-def]
    return prepare(columns, columns.r_env, rollout.networks, CONFIG, np.random.default_rng(1))[0]


def test_replaced_steps_execute_the_guidance_and_keep_the_own_action_apart() -> None:
    columns, _ = collected(Always("p", hold=4), ScriptedGuide(LANES, push))
    assert columns.replaced.all()
    np.testing.assert_array_equal(columns.executed, np.ones_like(columns.executed))
    assert (columns.action != 1.0).all()


def test_replaced_steps_are_masked_out_of_the_policy_but_count_for_values() -> None:
    columns, rollout = collected(EveryN(10, "p", hold=2), ScriptedGuide(LANES, push))
    batch = prepared(columns, rollout)
    np.testing.assert_array_equal(batch.policy_weight, (~columns.replaced).reshape(-1))
    assert 0 < columns.replaced.sum() < columns.replaced.size
    assert len(batch) == STEPS * LANES
    assert batch.mask.sum() > 0.7 * batch.mask.size


def test_what_guidance_did_cannot_move_the_actor() -> None:
    columns, rollout = collected(EveryN(5, "p", hold=2), ScriptedGuide(LANES, push))
    batch = prepared(columns, rollout)
    twin = collected(EveryN(5, "p", hold=2), ScriptedGuide(LANES, push))[1].networks
    spoilt = np.where(batch.policy_weight == 0, 1e3, batch.advantage).astype(np.float32)
    for networks, rows in ((rollout.networks, batch), (twin, replace(batch, advantage=spoilt))):
        Learner(networks, CONFIG, np.random.default_rng(2)).update(rows, 1e-3)
    np.testing.assert_array_equal(rollout.networks.vector, twin.vector)


def test_prices_and_decisions_stand_in_their_own_columns() -> None:
    guide = ScriptedGuide(LANES, push, price=0.25)
    columns, _ = collected(EveryN(10, "p", hold=3), guide)
    asked = columns.choice != ALONE
    assert asked.sum() == len(guide.asked)
    np.testing.assert_array_equal(columns.price_usd, np.where(asked, 0.25, 0.0))
    lane, start = 0, guide.asked[0][0]
    np.testing.assert_array_equal(columns.ask_id[start : start + 4, lane], [1, 1, 1, 0])
    plain, _ = collected(Never(), None)
    assert (plain.choice == ALONE).all()
    assert not plain.price_usd.any()


def test_a_guidance_reward_never_touches_the_environment_s() -> None:
    paid = ScriptedGuide(LANES, reward=lambda context, outcome: np.full(LANES, 7.0))
    columns, _ = collected(Always("p", hold=4), paid)
    plain, _ = collected(Never(), None)
    np.testing.assert_array_equal(columns.r_env, plain.r_env)
    np.testing.assert_array_equal(columns.r_guidance, np.full((STEPS, LANES), 7.0))


def test_a_late_answer_amends_the_rows_of_its_ask_and_is_paid_once() -> None:
    columns, _ = collected(EveryN(10, "p", hold=3), ScriptedGuide(LANES, push, price=0.0))
    assert columns.amend(Amendment(ask_id=2, reward=1.5, price_usd=0.4))
    rows = columns.ask_id == 2
    assert rows.sum() == 3
    np.testing.assert_array_equal(columns.r_guidance, np.where(rows, 1.5, 0.0))
    assert columns.price_usd.sum() == 0.4
    first = tuple(np.argwhere(rows)[0])
    assert columns.price_usd[first] == 0.4


@pytest.mark.parametrize("ask_id", [0, 999])
def test_an_answer_without_rows_here_changes_nothing(ask_id: int) -> None:
    columns, _ = collected(EveryN(10, "p", hold=3), ScriptedGuide(LANES, push))
    before = columns.r_guidance.copy(), columns.price_usd.copy()
    assert not columns.amend(Amendment(ask_id, 1.0, 1.0))
    np.testing.assert_array_equal(columns.r_guidance, before[0])
    np.testing.assert_array_equal(columns.price_usd, before[1])


Means = Callable[[StepContext], np.ndarray]


def nudged(shift: float, means: Means) -> Callable[[StepContext, Advice], Advice]:
    """Advice drawn 0.3 sigma above a mean `shift` sigma above the learner's; its density is known."""

    def advise(context: StepContext, advice: Advice) -> Advice:
        held = advice.ask_id > 0
        std = np.full_like(context.own_action, np.exp(np.float32(-0.5)))
        mean = means(context) + np.float32(shift) * std
        return replace(advice, replaced=held, action=mean + 0.3 * std, density=Density(held, mean, std))

    return advise


def density_rollout(shift: float) -> tuple[Columns, Rollout]:
    twin = collected(Never(), None)[1]

    def means(context: StepContext) -> np.ndarray:
        return twin.networks.mean(twin.norm.normalise(context.observation).astype(np.float32))

    return collected(EveryN(5, "p", hold=2), ScriptedGuide(LANES, nudged(shift, means)))


def test_the_ratio_of_a_guided_step_is_that_of_the_stored_behaviour() -> None:
    columns, rollout = density_rollout(0.1)
    batch = prepared(columns, rollout)
    assert batch.policy_weight.all()
    now = losses.gaussian_log_prob(
        batch.action, rollout.networks.mean(batch.observation), rollout.networks.log_std
    )
    ratio = np.exp(now - batch.old_log_prob)
    guided = batch.guided > 0
    # log ratio = (0.3^2 - (0.3 + 0.1)^2) / 2
    np.testing.assert_allclose(ratio[guided], np.exp(-0.035), rtol=1e-5)
    np.testing.assert_allclose(ratio[~guided], 1.0, atol=1e-5)
    np.testing.assert_allclose(columns.divergence[columns.replaced], 0.01, rtol=1e-3)


def test_beyond_the_divergence_cap_a_guided_step_is_masked() -> None:
    columns, rollout = density_rollout(0.3)
    np.testing.assert_allclose(columns.divergence[columns.replaced], 0.09, rtol=1e-3)
    np.testing.assert_array_equal(prepared(columns, rollout).policy_weight, (~columns.replaced).reshape(-1))


def test_values_reach_a_query_policy_in_raw_return_and_only_if_it_reads_them() -> None:
    seen: list[StepContext] = []

    class Watching:
        reads_values = True

        def decide(self, context: StepContext) -> Decision:
            seen.append(context)
            return Decision.alone(LANES)

    rng = np.random.default_rng(0)
    networks = ActorCritic(2, 1, (8, 8), 2, prior_scale=0.3)
    networks.initialise(rng, 0.0)
    norm = RunningNorm((2,))
    env = VectorEnv(Drift, LANES, 0)
    Rollout(env, networks, norm, rng, Watching(), value_unit=50.0).collect(Columns(2, LANES, 2, 1))
    context = seen[0]
    expected = networks.values(norm.normalise(context.observation).astype(np.float32)).astype(np.float64) * 50
    np.testing.assert_array_equal(context.values, expected)
    np.testing.assert_array_equal(context.value_spread, expected.std(axis=0))
    with pytest.raises(ValueError, match="reads_values"):
        _ = replace(context, values=None).value_mean


class Counting(gymnasium.Env):  # type: ignore[type-arg]
    """Ends after five steps."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):  # type: ignore[no-untyped-def]
        self.count = 0
        return np.zeros(2), {}

    def step(self, action):  # type: ignore[no-untyped-def]
        self.count += 1
        return np.full(2, float(self.count)), 1.0, self.count >= 5, False, {}


def test_a_foreign_reset_step_is_neither_asked_about_nor_charged_nor_learnt_from() -> None:
    made = SyncVectorEnv([Counting] * LANES, autoreset_mode=AutoresetMode.NEXT_STEP)
    guide = ScriptedGuide(LANES, push)
    columns, rollout = collected(Always("p", hold=1), guide, from_gymnasium(made))
    reset_steps = ~columns.valid
    assert reset_steps.sum() == LANES * 5  # of 30 steps, every sixth
    assert (columns.choice[reset_steps] == ALONE).all()
    assert not columns.price_usd[reset_steps].any()
    assert not columns.replaced[reset_steps].any()
    assert not columns.ask_id[reset_steps].any()
    assert len(guide.asked) == columns.valid.sum()
    assert len(prepared(columns, rollout)) == columns.valid.sum()
