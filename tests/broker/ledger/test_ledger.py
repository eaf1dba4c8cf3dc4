"""Money: reserve first, settle on what was used, charge once."""

import pytest

from broker.errors import OverBudget, Unavailable
from broker.events import Charged, LedgerFailed, Saved
from broker.ledger import Ledger, LedgerInUse, stored_lines
from broker.testing import ManualClock


class Fixture:
    def __init__(self, path: str = ":memory:", budget_usd: float = 1.0) -> None:
        self.clock = ManualClock()
        self.events: list[object] = []
        self.ledger = Ledger(self.clock, self.events.append, path, {"acme": budget_usd})

    def line(self, provider: str = "strong"):
        return next(line for line in self.ledger.summary("acme") if line.provider_id == provider)

    def charged_by_events(self) -> float:
        return sum(event.usd for event in self.events if isinstance(event, Charged))


@pytest.fixture
def at() -> Fixture:
    return Fixture()


def test_settling_charges_what_was_used_and_releases_the_rest(at):
    reservation = at.ledger.reserve("acme", "strong", 0.5, ttl_s=10)
    assert (at.line().reserved_usd, at.line().charged_usd) == (0.5, 0.0)
    at.ledger.settle(reservation, 0.2)
    assert (at.line().reserved_usd, at.line().charged_usd, at.line().charges) == (0.0, 0.2, 1)


def test_a_second_settle_changes_nothing(at):
    reservation = at.ledger.reserve("acme", "strong", 0.5, ttl_s=10)
    at.ledger.settle(reservation, 0.2)
    at.ledger.settle(reservation, 0.4)
    at.ledger.charge([(reservation, 0.4)])
    assert at.line().charged_usd == 0.2
    assert at.charged_by_events() == 0.2


def test_what_is_reserved_cannot_be_reserved_again(at):
    at.ledger.reserve("acme", "strong", 0.7, ttl_s=10)
    with pytest.raises(OverBudget):
        at.ledger.reserve("acme", "medium", 0.4, ttl_s=10)
    at.ledger.reserve("acme", "medium", 0.3, ttl_s=10)


def test_a_released_rest_can_be_spent(at):
    at.ledger.settle(at.ledger.reserve("acme", "strong", 1.0, ttl_s=10), 0.1)
    at.ledger.reserve("acme", "strong", 0.9, ttl_s=10)


def test_a_tenant_without_a_budget_has_no_limit_and_one_with_zero_can_pay_nothing():
    ledger = Ledger(ManualClock(), lambda event: None, budgets_usd={"poor": 0.0})
    ledger.reserve("rich", "strong", 1e6, ttl_s=10)
    with pytest.raises(OverBudget):
        ledger.reserve("poor", "strong", 1e-9, ttl_s=10)


def test_budgets_are_apart(at):
    at.ledger.reserve("acme", "strong", 1.0, ttl_s=10)
    at.ledger.reserve("other", "strong", 1.0, ttl_s=10)


def test_leased_steps_add_up_exactly(at):
    reservation = at.ledger.reserve("acme", "strong", 0.2, ttl_s=10)
    for _ in range(1000):
        at.ledger.charge([(reservation, 0.0002)])
    at.ledger.settle(reservation, 0.0)
    assert at.line().charged_usd == 0.2
    assert at.line().charges == 1000


def test_leases_of_one_message_are_charged_together(at):
    first = at.ledger.reserve("acme", "strong", 0.1, ttl_s=10)
    second = at.ledger.reserve("acme", "medium", 0.1, ttl_s=10)
    at.ledger.charge([(first, 0.001), (second, 0.0002)])
    assert (at.line("strong").charged_usd, at.line("medium").charged_usd) == (0.001, 0.0002)
    assert at.line("strong").reserved_usd == pytest.approx(0.099)


def test_usage_beyond_the_estimate_is_charged_in_full(at):
    at.ledger.settle(at.ledger.reserve("acme", "strong", 0.6, ttl_s=10), 0.9)
    assert at.line().charged_usd == 0.9
    with pytest.raises(OverBudget):
        at.ledger.reserve("acme", "strong", 0.2, ttl_s=10)


async def test_a_reservation_nobody_settles_settles_at_what_is_left_when_it_expires(at):
    reservation = at.ledger.reserve("acme", "strong", 0.5, ttl_s=10)
    at.ledger.charge([(reservation, 0.1)])
    await at.clock.advance(9.9)
    assert at.line().charged_usd == 0.1
    await at.clock.advance(0.2)
    assert (at.line().charged_usd, at.line().reserved_usd) == (0.5, 0.0)
    at.ledger.settle(reservation, 0.3)
    assert at.line().charged_usd == 0.5


async def test_a_reserve_finds_what_expired_without_a_summary(at):
    at.ledger.reserve("acme", "strong", 1.0, ttl_s=5)
    await at.clock.advance(6)
    with pytest.raises(OverBudget):
        at.ledger.reserve("acme", "strong", 0.1, ttl_s=5)
    assert at.charged_by_events() == 1.0


def test_saved_is_counted_and_charges_nothing(at):
    at.ledger.saved("acme", "strong", 0.004, count=4)
    assert (at.line().saved_usd, at.line().charged_usd) == (0.004, 0.0)
    assert at.events == [Saved("acme", "strong", 0.004)]


@pytest.mark.parametrize("usd", [-0.1, float("nan"), float("inf")])
def test_an_amount_that_is_none_is_refused(at, usd):
    with pytest.raises(ValueError):
        at.ledger.reserve("acme", "strong", usd, ttl_s=10)


def test_new_budgets_apply_to_what_was_already_spent(at):
    at.ledger.settle(at.ledger.reserve("acme", "strong", 0.9, ttl_s=10), 0.9)
    at.ledger.set_budgets({"acme": 2.0})
    at.ledger.settle(at.ledger.reserve("acme", "strong", 1.0, ttl_s=10), 1.0)
    at.ledger.set_budgets({"acme": 1.0})
    with pytest.raises(OverBudget):
        at.ledger.reserve("acme", "strong", 0.1, ttl_s=10)


def test_charges_survive_a_restart_and_are_not_doubled_by_it(tmp_path):
    path = str(tmp_path / "l.db")
    at = Fixture(path)
    for _ in range(600):  # past the point at which closed reservations are folded into totals
        at.ledger.settle(at.ledger.reserve("acme", "strong", 0.001, ttl_s=10), 0.001)
    at.ledger.close()
    for _ in range(3):
        again = Fixture(path)
        assert (again.line().charged_usd, again.line().charges) == (0.6, 600)
        with pytest.raises(OverBudget):
            again.ledger.reserve("acme", "strong", 0.5, ttl_s=10)
        again.ledger.close()


def test_a_reservation_of_an_earlier_run_settles_at_what_is_left(tmp_path):
    path = str(tmp_path / "l.db")
    at = Fixture(path)
    reservation = at.ledger.reserve("acme", "strong", 0.5, ttl_s=1000)
    at.ledger.charge([(reservation, 0.1)])
    at.ledger.close()
    again = Fixture(path)
    assert (again.line().charged_usd, again.line().charges, again.line().reserved_usd) == (0.5, 2, 0.0)


def test_numbers_of_an_earlier_run_mean_nothing_in_the_next(tmp_path):
    path = str(tmp_path / "l.db")
    at = Fixture(path)
    old = at.ledger.reserve("acme", "strong", 0.1, ttl_s=10)
    at.ledger.settle(old, 0.1)
    at.ledger.close()
    again = Fixture(path)
    new = again.ledger.reserve("acme", "strong", 0.1, ttl_s=10)
    assert new != old
    again.ledger.settle(old, 0.1)
    assert again.line().reserved_usd == 0.1


def test_a_second_broker_may_not_open_the_same_ledger(tmp_path):
    path = str(tmp_path / "l.db")
    at = Fixture(path)
    with pytest.raises(LedgerInUse, match=r"l\.db"):
        Fixture(path)
    with pytest.raises(LedgerInUse):
        stored_lines(path, {})
    at.ledger.close()
    Fixture(path).ledger.close()


def test_a_stopped_brokers_ledger_can_be_read_and_stays_as_it_is(tmp_path):
    path = str(tmp_path / "l.db")
    at = Fixture(path)
    at.ledger.settle(at.ledger.reserve("acme", "strong", 0.2, ttl_s=10), 0.2)
    at.ledger.reserve("acme", "strong", 0.3, ttl_s=10)
    at.ledger.close()
    for _ in range(2):
        (line,) = stored_lines(path, {"acme": 1.0})
        assert (line.charged_usd, line.reserved_usd, line.budget_usd) == (0.2, 0.3, 1.0)


def unwritable(at: Fixture) -> None:
    """As a full disk: SQLite itself refuses every write."""
    at.ledger._storage._execute("PRAGMA query_only = 1")


def writable_again(at: Fixture) -> None:
    at.ledger._storage._execute("PRAGMA query_only = 0")


def test_an_unwritable_ledger_refuses_paid_calls_and_says_when_to_try_again(at):
    unwritable(at)
    for _ in range(3):
        with pytest.raises(Unavailable) as refused:
            at.ledger.reserve("acme", "strong", 0.1, ttl_s=10)
        assert refused.value.reason == "LEDGER_UNAVAILABLE"
        assert refused.value.retry_after_ms > 0
    assert at.events == [LedgerFailed()]
    assert not at.ledger.writable
    writable_again(at)
    at.ledger.reserve("acme", "strong", 0.1, ttl_s=10)
    assert at.ledger.writable


def test_a_charge_that_could_not_be_written_is_written_later_and_once(tmp_path):
    path = str(tmp_path / "l.db")
    at = Fixture(path)
    reservation = at.ledger.reserve("acme", "strong", 0.5, ttl_s=10)
    unwritable(at)
    at.ledger.charge([(reservation, 0.1)])
    at.ledger.settle(reservation, 0.2)
    assert at.line().charged_usd == pytest.approx(0.3)
    writable_again(at)
    at.ledger.settle(at.ledger.reserve("acme", "strong", 0.1, ttl_s=10), 0.1)
    at.ledger.close()
    assert Fixture(path).line().charged_usd == 0.4


async def test_a_ledger_that_cannot_be_opened_is_tried_again(tmp_path):
    folder = tmp_path / "not_yet"
    at = Fixture(str(folder / "l.db"))
    with pytest.raises(Unavailable):
        at.ledger.reserve("acme", "strong", 0.1, ttl_s=10)
    assert at.events == [LedgerFailed()]
    folder.mkdir()
    await at.clock.advance(1.1)
    at.ledger.settle(at.ledger.reserve("acme", "strong", 0.1, ttl_s=10), 0.1)
    assert at.line().charged_usd == 0.1


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path):
    path = tmp_path / "l.db"
    path.write_bytes(b"something else entirely" * 100)
    at = Fixture(str(path))
    with pytest.raises(Unavailable):
        at.ledger.reserve("acme", "strong", 0.1, ttl_s=10)
    assert path.read_bytes() == b"something else entirely" * 100


async def test_maintenance_shortens_the_log_and_changes_no_figure(tmp_path, monkeypatch):
    monkeypatch.setattr("broker.ledger.storage.CHECKPOINT_AFTER", 100)
    path = str(tmp_path / "l.db")
    at = Fixture(path)
    for _ in range(100):
        at.ledger.settle(at.ledger.reserve("acme", "strong", 0.001, ttl_s=10), 0.001)
    await at.ledger.maintain()
    before = (tmp_path / "l.db-wal").stat().st_size
    for _ in range(50):
        at.ledger.settle(at.ledger.reserve("acme", "strong", 0.001, ttl_s=10), 0.001)
    assert (tmp_path / "l.db-wal").stat().st_size == before
    at.ledger.close()
    assert Fixture(path).line().charges == 150
