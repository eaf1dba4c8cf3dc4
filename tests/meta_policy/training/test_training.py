from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from meta_policy.cost import Costs
from meta_policy.lanes import Lanes
from meta_policy.loop import Loop, Rules
from meta_policy.moves import MoveSet
from meta_policy.presets import Source, preset_of
from meta_policy.training.config import HeadConfig
from meta_policy.training.rollout import Columns
from meta_policy.training.training import Training, prepare
from meta_policy.virtual.guide import VirtualGuide
from tests.meta_policy.worlds import Corridor, executor, traces, virtual_guide

CONFIG = HeadConfig(total_steps=3000, lanes=4, rollout_steps=25, epochs=2, minibatch=50, hidden=(16,))
PRESET = replace(
    preset_of("PerturbedHopper"),
    sources=(Source("half", None, 0.001, 1.0, 2.0),),
    betas=(0.1, 0.2),
    reliance=0.0,
)


def training(length: int = 30, cut: int | None = None, config: HeadConfig = CONFIG) -> Training:
    """Following `half` pays 0.5 a step; the executor alone does worse on average."""
    guide = virtual_guide(lanes=config.lanes)
    world = Lanes(lambda: Corridor(length, cut), config.lanes)
    loop = Loop(world, executor(), cheap(guide), MoveSet(("half",), holds=(1, 5)), Rules(8.0))
    return Training(loop, guide, PRESET, Costs(rate=100.0), config, seed=0)


def cheap(guide: VirtualGuide) -> VirtualGuide:
    guide.sources = (replace(guide.sources[0], usd_per_step=0.001),)
    guide._traces = [traces(half=[1.0, 2.0, 3.0]).latency_ms["half"]]
    return guide


def test_a_resumed_run_goes_on_bit_for_bit():
    whole, first, second = training(), training(), training()
    for _ in range(6):
        wanted = whole.advance()
    for _ in range(3):
        first.advance()
    second.restore(*first.state())
    for _ in range(3):
        got = second.advance()
    assert got == wanted
    np.testing.assert_array_equal(second.networks.vector, whole.networks.vector)
    np.testing.assert_array_equal(second.norm.mean, whole.norm.mean)


def test_a_head_learns_to_follow_a_source_that_pays():
    run = training(config=replace(CONFIG, total_steps=5000, learning_rate=1e-2))
    before = run.advance()["guided_share"]
    while run.steps < run.config.total_steps:
        after = run.advance()["guided_share"]
    assert after > before + 0.2


def test_a_truncated_episode_is_valued_where_it_ended_and_a_terminated_one_is_not():
    columns = Columns(2, 1, 1, 2)
    columns.utility[:] = 1.0
    columns.value[:] = 0.0
    columns.following[:] = 10.0
    columns.truncated[0], columns.terminated[1] = True, True
    batch, _ = prepare(columns, gamma=0.5, lam=1.0)
    assert batch.target.tolist() == [6.0, 1.0]


def test_a_lease_of_n_steps_is_discounted_by_gamma_to_the_n():
    columns = Columns(3, 1, 1, 2)
    columns.utility[:, 0] = [1.0, 1.0, 1.0]
    columns.following[-1] = 8.0
    batch, _ = prepare(columns, gamma=0.5, lam=1.0)
    assert batch.target[0] == pytest.approx(1 + 0.5 + 0.25 + 0.125 * 8)


def test_the_value_of_an_episode_cut_short_is_that_of_its_own_last_observation():
    run = training(length=1000, cut=10)
    run.rollout.collect(run.columns)
    cut = run.columns.truncated
    assert cut.any()
    t, lane = np.argwhere(cut)[0]
    assert run.columns.following[t, lane] != run.columns.value[t + 1, lane]
    assert run.columns.following[t - 1, lane] == run.columns.value[t, lane]
