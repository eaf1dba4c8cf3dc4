"""What the configuration of every source has in common. Each kind adds its own keys beside its code."""

from __future__ import annotations

from collections.abc import Mapping

from broker.config.secrets import MissingSecret, SecretReference
from broker.config.strict import Many, Name, PositiveInt, PositiveMilliseconds, Strict, UsdEach
from protos.types import Price


class PriceSettings(Strict):
    usd_per_ask: UsdEach = 0.0
    usd_per_leased_step: UsdEach = 0.0
    usd_per_input_token: UsdEach = 0.0
    usd_per_output_token: UsdEach = 0.0
    billed_when_cancelled: bool = False

    def price(self) -> Price:
        return Price(**dict(self))


class ProviderSettings(Strict):
    """One ``[[providers]]`` table. A kind subclasses this, overrides defaults and adds its keys.

    The kinds' models are handed to :func:`broker.config.load` by whoever knows the registry; nothing here
    lists them. A source that runs in this process is neither cached nor coalesced unless asked to be.
    """

    id: Name
    kind: str
    price: PriceSettings = PriceSettings()
    timeout_ms: PositiveMilliseconds = 1_000
    final_cap_ms: PositiveMilliseconds = 5_000  # the longest `final_by_ms` this source is given
    max_concurrency: PositiveInt = 64
    cache: bool = False
    coalesce: bool = False
    tasks: Many[str] = ()  # empty: every task whose route names it

    def references(self) -> tuple[str, ...]:
        """Ids of other sources this one is built on; they must be configured."""
        return ()

    def missing_secret(self, environ: Mapping[str, str]) -> str | None:
        """Why this source cannot be used: the first secret that is not there, in words; None: all are."""
        for value in dict(self).values():
            if isinstance(value, SecretReference):
                try:
                    value.resolve(environ)
                except MissingSecret as missing:
                    return str(missing)
        return None
