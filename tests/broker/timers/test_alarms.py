"""Many alarms and one sleeper, on a clock moved by hand."""

import asyncio

from broker.testing import ManualClock
from broker.timers.alarms import Alarms


async def test_alarms_ring_in_the_order_of_their_times_each_at_its_own():
    clock, rung = ManualClock(), []
    alarms = Alarms(clock)
    for when in (3.0, 1.0, 2.0):
        alarms.at(when, lambda when=when: rung.append((when, clock.now())))
    await clock.advance(2.5)
    assert rung == [(1.0, 1.0), (2.0, 2.0)]
    await clock.advance(0.5)
    assert rung[-1] == (3.0, 3.0)
    await alarms.close()


async def test_a_cancelled_alarm_stays_silent():
    clock, rung = ManualClock(), []
    alarms = Alarms(clock)
    alarms.at(1.0, lambda: rung.append("kept"))
    alarms.at(1.0, lambda: rung.append("cancelled")).cancel()
    await clock.advance(2.0)
    assert rung == ["kept"]
    await alarms.close()


async def test_an_alarm_may_set_another_for_the_same_time():
    clock, rung = ManualClock(), []
    alarms = Alarms(clock)
    alarms.at(1.0, lambda: alarms.at(1.0, lambda: rung.append("second")))
    await clock.advance(1.0)
    assert rung == ["second"]
    await alarms.close()


async def test_one_faulty_alarm_does_not_silence_the_others():
    clock, rung, faults = ManualClock(), [], []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, context: faults.append(context["exception"])
    )
    alarms = Alarms(clock)
    alarms.at(1.0, lambda: 1 / 0)
    alarms.at(1.0, lambda: rung.append("after"))
    await clock.advance(1.0)
    assert rung == ["after"]
    assert isinstance(faults[0], ZeroDivisionError)
    await alarms.close()


async def test_any_number_of_alarms_costs_one_sleeper():
    clock = ManualClock()
    alarms = Alarms(clock)
    for number in range(100):
        alarms.at(5.0 + number, lambda: None)
    await clock.advance(1.0)
    assert clock.sleepers == 1
    await alarms.close()


async def test_cancelled_alarms_do_not_pile_up():
    clock, rung = ManualClock(), []
    alarms = Alarms(clock)
    kept = [alarms.at(300.0, lambda: rung.append("kept")) for _ in range(10)]
    for _ in range(50_000):
        alarms.at(300.0, lambda: rung.append("cancelled")).cancel()
    assert len(alarms) < 3_000
    await clock.advance(300.0)
    assert rung == ["kept"] * len(kept)
    await alarms.close()
