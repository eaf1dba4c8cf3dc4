import pytest

from meta_policy.live.pacing import Ticker


class Hand:
    """A clock moved by hand; a sleep ends when it should."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time

    async def sleep(self, when: float) -> None:
        self.time = max(self.time, when)


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def ticker(hand: Hand) -> Ticker:
    return Ticker(0.008, sleep=hand.sleep, now=hand.now)


async def test_ticks_stand_a_period_apart_however_long_the_work_took(hand: Hand, ticker: Ticker):
    began = []
    for work in (0.001, 0.007, 0.0):
        began.append(await ticker.tick())
        hand.time += work
    assert began == pytest.approx([100.0, 100.008, 100.016])
    assert ticker.missed == 0


async def test_work_longer_than_a_period_is_a_missed_tick_and_is_not_caught_up(hand: Hand, ticker: Ticker):
    await ticker.tick()
    hand.time += 0.012
    late = await ticker.tick()
    following = await ticker.tick()
    assert ticker.missed == 1
    assert following - late == pytest.approx(0.008)


async def test_every_period_that_went_by_is_counted(hand: Hand, ticker: Ticker):
    await ticker.tick()
    hand.time += 0.008 + 5 * 0.008
    await ticker.tick()
    assert ticker.missed == 5


async def test_a_tenth_of_a_period_is_still_on_time(hand: Hand, ticker: Ticker):
    await ticker.tick()
    hand.time += 0.0087
    await ticker.tick()
    assert ticker.missed == 0
    assert ticker.lateness_ms(1.0) == pytest.approx([0.7])


async def test_a_pause_between_episodes_is_not_a_miss(hand: Hand, ticker: Ticker):
    await ticker.tick()
    hand.time += 3.0
    ticker.pause()
    await ticker.tick()
    assert ticker.missed == 0
