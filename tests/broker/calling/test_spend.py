"""What a call is charged: the estimate is set aside before, the real usage settles after."""

import asyncio
import math

import pytest

from broker.calling.spend import Spend, charge_of
from broker.events import UsageDoubted
from broker.ledger import Ledger
from broker.outcomes import AttemptOutcome
from broker.providers.interface import ProviderError, Usage
from broker.testing import ManualClock, Scripted, scripted_provider
from protos.types import Price
from tests.broker.making import a_call, a_query

PER_ASK = Price(usd_per_ask=0.004)
TOKENS = Price(usd_per_ask=0.001, usd_per_input_token=1e-6, usd_per_output_token=2e-6)


@pytest.mark.parametrize(
    ("usage", "price", "rows", "charged", "doubted"),
    [
        (None, PER_ASK, 3, 0.012, False),
        (Usage(price_usd=0.007), PER_ASK, 1, 0.007, False),
        (Usage(price_usd=0.0), PER_ASK, 1, 0.0, False),
        (Usage(price_usd=-1.0), PER_ASK, 1, 0.004, True),
        (Usage(price_usd=math.nan), PER_ASK, 1, 0.004, True),
        (Usage(price_usd=1e6), PER_ASK, 1, 0.004, True),
        (Usage(1000, 200), TOKENS, 1, 0.0024, False),
        (None, TOKENS, 1, 0.001, True),
        (Usage(-1, 5), TOKENS, 1, 0.001, True),
        (Usage(10**12, 5), TOKENS, 1, 0.001, True),
        (Usage(10**7, 5), Price(usd_per_ask=0.001, usd_per_input_token=1e3), 1, 0.001, True),
    ],
)
def test_stated_usage_settles_and_doubtful_usage_leaves_the_estimate(usage, price, rows, charged, doubted):
    assert charge_of(usage, price, rows) == (pytest.approx(charged), doubted)


def spend(price: Price, *script: Scripted) -> tuple[Spend, Ledger, list[object]]:
    clock, events = ManualClock(), []
    ledger = Ledger(clock, events.append)
    source = scripted_provider(clock=clock, price=price, script=script)
    return Spend(source, ledger, clock, events.append), ledger, events


def books(ledger: Ledger) -> tuple[float, float]:
    lines = ledger.summary()
    ledger.close()
    return sum(line.charged_usd for line in lines), sum(line.reserved_usd for line in lines)


@pytest.mark.parametrize("outcome", [outcome for outcome in AttemptOutcome if outcome.completed])
async def test_a_call_that_completed_is_charged_whatever_it_said(outcome):
    layer, ledger, _ = spend(PER_ASK, Scripted(outcome))
    call = a_call()
    await layer.guide(a_query(rows=2), call)
    assert call.bill.usd == pytest.approx(0.008)
    assert books(ledger) == (pytest.approx(0.008), 0.0)


async def test_a_call_that_failed_is_not_charged():
    layer, ledger, _ = spend(PER_ASK, Scripted(AttemptOutcome.PROVIDER_FAULT))
    with pytest.raises(ProviderError):
        await layer.guide(a_query(), a_call(deadline=10.0))
    assert books(ledger) == (0.0, 0.0)


@pytest.mark.parametrize(("billed", "charged"), [(False, 0.0), (True, 0.004)])
async def test_a_cancelled_call_is_charged_where_its_source_bills_it(billed, charged):
    layer, ledger, _ = spend(Price(usd_per_ask=0.004, billed_when_cancelled=billed), Scripted(never=True))
    task = asyncio.create_task(layer.guide(a_query(), a_call(deadline=10.0)))
    await asyncio.sleep(0)
    assert sum(line.reserved_usd for line in ledger.summary()) == pytest.approx(0.004)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert books(ledger) == (pytest.approx(charged), 0.0)


async def test_doubted_usage_is_counted():
    layer, ledger, events = spend(PER_ASK, Scripted(usage=Usage(price_usd=-3.0)))
    await layer.guide(a_query(), a_call(deadline=10.0))
    assert UsageDoubted("scripted") in events
    assert books(ledger) == (pytest.approx(0.004), 0.0)


async def test_a_free_source_never_touches_the_ledger():
    layer, ledger, _ = spend(Price(), Scripted())
    await layer.guide(a_query(), a_call(deadline=10.0))
    assert ledger.summary() == []
    ledger.close()
