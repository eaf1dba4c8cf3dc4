"""Whole training batches: nothing asked changes nothing, scales stay apart, seeds and schedules hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from agents.ppo.config import PPOConfig, require_ensemble
from agents.ppo.training import Training
from agents.query import Advice, Always, Amendment, EveryN, Never, QueryPolicy, StepContext
from agents.vector import VectorEnv, VectorStep
from tests.agents.scripted_guide import Drift, ScriptedGuide

CONFIG = PPOConfig(
    total_steps=4096,
    envs=4,
    rollout_steps=64,
    epochs=2,
    hidden=(16, 16),
    members=2,
    guidance_weight_steps=512,
)
Row = dict[str, float]


def run(
    batches: int,
    config: PPOConfig = CONFIG,
    seed: int = 0,
    query: QueryPolicy | None = None,
    guide: ScriptedGuide | None = None,
    make: Callable[[], Drift] = Drift,
) -> tuple[Training, list[Row]]:
    training = Training(VectorEnv(make, config.envs, seed), config, seed, query, guide)
    return training, [training.advance() for _ in range(batches)]


def assert_same_state(one: Training, other: Training, but: tuple[str, ...] = ()) -> None:
    (arrays, values), (others, other_values) = one.state(), other.state()
    assert arrays.keys() == others.keys()
    for name in arrays:
        if not name.startswith(but or ("no such prefix",)):
            np.testing.assert_array_equal(arrays[name], others[name], err_msg=name)
    assert values == other_values


def assert_same_rows(one: list[Row], other: list[Row]) -> None:
    """Bit for bit over the columns both have; NaN equals NaN."""
    for a, b in zip(one, other, strict=True):
        shared = a.keys() & b.keys()
        assert len(shared) >= 15
        for name in shared:
            np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def pay(context: StepContext, outcome: VectorStep) -> np.ndarray:
    """A guidance reward that is not a copy of the environment's."""
    return np.tanh(outcome.final_observation[:, 1])


def test_never_through_the_guided_path_is_plain_ppo_bit_for_bit() -> None:
    plain, plain_rows = run(4)
    guided, guided_rows = run(4, query=Never(), guide=ScriptedGuide(4))
    assert_same_state(plain, guided, but=("guidance_scale",))
    assert_same_rows(plain_rows, guided_rows)


def test_reading_values_to_decide_draws_nothing_from_the_learner() -> None:
    plain, plain_rows = run(3)
    reading, reading_rows = run(3, query=Never(reads_values=True), guide=ScriptedGuide(4))
    assert_same_state(plain, reading, but=("guidance_scale",))
    assert_same_rows(plain_rows, reading_rows)


def test_lambda_zero_is_no_guidance_bit_for_bit_however_much_is_asked() -> None:
    plain, plain_rows = run(4)
    config = replace(CONFIG, guidance_weight=0.0)
    asking, asking_rows = run(4, config, query=Always("p", 4), guide=ScriptedGuide(4, reward=pay))
    assert asking_rows[-1]["query_rate"] > 0.2
    assert asking_rows[-1]["r_guidance_mean"] != 0.0
    assert_same_state(plain, asking, but=("guidance_scale",))
    assert_same_rows(plain_rows, asking_rows)


def test_lambda_above_zero_does_change_what_is_learnt() -> None:
    plain, _ = run(2)
    config = replace(CONFIG, guidance_weight=0.5, guidance_weight_end=0.5)
    shaped, _ = run(2, config, query=Always("p", 4), guide=ScriptedGuide(4, reward=pay))
    assert (plain.networks.vector != shaped.networks.vector).any()


def test_guidance_leaves_the_statistics_of_the_environment_alone() -> None:
    config = replace(CONFIG, guidance_weight=0.5)
    plain, _ = run(1)
    shaped, _ = run(1, config, query=Always("p", 4), guide=ScriptedGuide(4, reward=pay))
    for name, value in plain.env_scale.state_dict().items():
        np.testing.assert_array_equal(value, shaped.env_scale.state_dict()[name])
    assert shaped.guidance_scale.std != shaped.env_scale.std
    assert shaped.guidance_scale.gamma == shaped.env_scale.gamma == CONFIG.gamma


def test_scaling_the_environment_by_ten_leaves_the_effective_ratio() -> None:
    config = replace(CONFIG, guidance_weight=0.5, guidance_weight_steps=4096)

    def ratios(scale: float) -> list[float]:
        rows = run(4, config, 0, Always("p", 4), ScriptedGuide(4, reward=pay), lambda: Drift(scale))[1]
        return [row["guidance_ratio"] for row in rows]

    one, ten = ratios(100.0), ratios(1000.0)
    assert min(one) > 0.0
    np.testing.assert_allclose(ten, one, rtol=0.05)


def test_reported_returns_are_raw_and_the_three_rewards_are_apart() -> None:
    always_paid = ScriptedGuide(4, reward=lambda context, outcome: np.full(4, 1000.0))
    config = replace(CONFIG, guidance_weight=0.5)
    row = run(1, config, query=Never(), guide=always_paid)[1][0]
    plain = run(1)[1][0]
    for name in ("ep_return_mean", "ep_return_min", "ep_return_max"):
        assert row[name] == plain[name]
    assert row["r_guidance_mean"] == 1000.0
    assert row["r_env_mean"] < 1.0
    assert row["r_total_mean"] not in (row["r_env_mean"], row["r_guidance_mean"])


def test_lambda_follows_its_schedule_and_ends_at_zero() -> None:
    config = replace(CONFIG, guidance_weight=1.0)
    rows = run(4, config, query=Always("p", 4), guide=ScriptedGuide(4, reward=pay))[1]
    assert [row["guidance_weight"] for row in rows] == [1.0, 0.5, 0.0, 0.0]


def test_the_learning_rate_falls_to_zero_at_the_horizon() -> None:
    training, rows = run(2, replace(CONFIG, total_steps=512))
    assert [row["learning_rate"] for row in rows] == [3e-4, 1.5e-4]
    assert training.learning_rate.at(training.steps) == 0.0


def test_before_the_first_update_every_ratio_is_one() -> None:
    _, rows = run(6)
    assert max(row["ratio_error"] for row in rows) < 1e-5


def test_before_the_first_update_unguided_ratios_are_one_beside_guided_steps() -> None:
    def push(context: StepContext, advice: Advice) -> Advice:
        return replace(advice, replaced=advice.ask_id > 0, action=np.ones_like(context.own_action))

    _, rows = run(4, query=EveryN(10, "p", 3), guide=ScriptedGuide(4, push))
    assert 0.1 < rows[-1]["replaced_rate"] < 0.9
    assert max(row["ratio_error"] for row in rows) < 1e-5


def test_late_answers_amend_their_batch_and_those_of_another_are_counted_as_expired() -> None:
    guide = ScriptedGuide(4, price=0.0)
    guide.late = [Amendment(ask_id=1, reward=2.0, price_usd=0.3), Amendment(10**6, 2.0, 5.0)]
    row = run(1, query=EveryN(20, "p", 5), guide=guide)[1][0]
    assert row["answers_amended"] == 1.0
    assert row["answers_expired"] == 1.0
    assert row["price_usd"] == 0.3
    assert row["r_guidance_mean"] == pytest.approx(5 * 2.0 / 256)


def test_the_same_seed_twice_gives_the_same_actions_queries_and_returns() -> None:
    guides = ScriptedGuide(4, reward=pay), ScriptedGuide(4, reward=pay)
    runs = [run(3, seed=7, query=EveryN(7, "p", 2), guide=guide) for guide in guides]
    assert_same_state(runs[0][0], runs[1][0])
    assert_same_rows(runs[0][1], runs[1][1])
    assert guides[0].asked == guides[1].asked
    np.testing.assert_array_equal(runs[0][0].columns.action, runs[1][0].columns.action)


def test_lanes_and_neighbouring_seeds_share_no_first_observation() -> None:
    firsts = np.concatenate([run(0, seed=seed)[0].rollout.observation for seed in (0, 1)])
    assert len(np.unique(firsts, axis=0)) == 8


def test_neighbouring_seeds_share_no_weights_either() -> None:
    one, other = (run(0, seed=seed)[0].networks.vector for seed in (0, 1))
    used = one != 0  # biases start at zero
    assert (one[used] != other[used]).all()


def test_one_critic_is_refused_where_uncertainty_is_read_and_fine_where_it_is_not() -> None:
    alone = replace(CONFIG, members=1)
    with pytest.raises(ValueError, match="members >= 2"):
        run(0, alone, query=EveryN(5, "p", 1, reads_values=True))
    with pytest.raises(ValueError, match="the head reads value uncertainty"):
        require_ensemble(alone, "the head")
    run(1, alone, query=Never())


def test_bootstrap_masks_differ_between_members(monkeypatch: pytest.MonkeyPatch) -> None:
    masks: list[np.ndarray] = []
    training, _ = run(0, replace(CONFIG, members=3))
    update = training.learner.update

    def spy(batch: Any, rate: float) -> dict[str, float]:
        masks.append(batch.mask)
        return update(batch, rate)

    monkeypatch.setattr(training.learner, "update", spy)
    training.advance()
    assert abs(float(masks[0].mean()) - CONFIG.bootstrap_share) < 0.05
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert (masks[0][i] != masks[0][j]).mean() > 0.2


def test_weights_that_stop_being_finite_stop_the_run_with_a_reason() -> None:
    training, _ = run(1)
    training.networks.critics.weights[0][0, 0, 0] = np.nan
    with pytest.raises(FloatingPointError, match="not finite"):
        training.advance()
