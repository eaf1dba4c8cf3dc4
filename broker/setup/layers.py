"""The composition of a call: what stands around every source, and in which order."""

from __future__ import annotations

from collections.abc import Callable

from broker.accounts import Accounts
from broker.calling.slots import slots_of, slotted
from broker.calling.spend import spending
from broker.calling.timeout import timed
from broker.clock import Clock
from broker.events import Event
from broker.providers.interface import Provider
from broker.setup.assembly import Assembled
from broker.timers.alarms import Alarms


class Layers:
    """Every source in the layers of a call, outermost first: timeout, slots, spend, the source."""

    def __init__(
        self, clock: Clock, alarms: Alarms, accounts: Accounts, emit: Callable[[Event], None]
    ) -> None:
        self._clock = clock
        self._alarms = alarms
        self._accounts = accounts
        self._emit = emit
        self.paid: dict[str, Provider] = {}
        self.unpaid: dict[str, Provider] = {}
        self._wrapped: dict[str, Provider] = {}

    def wrap(self, assembled: Assembled) -> None:
        """Take over another configuration. A source that stays the same keeps its layers and their state."""
        for name in self._wrapped.keys() - assembled.providers.keys():
            del self._wrapped[name], self.paid[name], self.unpaid[name]
        for name, provider in assembled.providers.items():
            if self._wrapped.get(name) is provider:
                continue
            self._wrapped[name] = provider
            slots = slots_of(provider)
            spent = spending(provider, self._accounts, self._clock, self._emit)
            for table, inner in ((self.paid, spent), (self.unpaid, provider)):
                table[name] = timed(slotted(inner, self._clock, slots), self._clock, self._alarms)
