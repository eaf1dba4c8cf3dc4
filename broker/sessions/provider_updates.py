"""The live state of every source, and its changes pushed into the sessions that may ask it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from broker.events import Event, ProviderStateChanged
from broker.routing.interface import Candidate
from broker.service import Service
from broker.sessions.table import OpenSession, SessionTable
from broker.setup.catalogue import Source
from protos import codec
from protos.types import ProviderInfo, ProviderState, ProviderUpdate


@dataclass(slots=True, eq=False)
class ProviderTable:
    """``observe``: what routing knows of a source now."""

    service: Service
    sessions: SessionTable
    observe: Callable[[Source], Candidate]
    emit: Callable[[Event], None]
    _last: dict[str, ProviderUpdate] = field(default_factory=dict)
    _infos: dict[str, ProviderInfo] = field(default_factory=dict)

    def update(self, source: Source) -> ProviderUpdate:
        seen = self.observe(source)
        return ProviderUpdate(
            provider_id=source.info.provider_id,
            state=seen.state,
            progress=1.0 if seen.state is ProviderState.READY else 0.0,
            latency=seen.latency,
            price=source.info.price,
            in_flight=seen.in_flight,
            config_generation=self.service.catalogue.generation,
        )

    def tell(self, opened: OpenSession) -> None:
        """All of it, to a session that has just begun."""
        for source in self.service.catalogue.serving(opened.hello.task):
            _send(opened, self.update(source))

    def push_changes(self) -> None:
        """What changed since the last time, to every session it concerns; a new description goes along."""
        catalogue = self.service.catalogue
        changed: dict[str, ProviderUpdate] = {}
        for provider_id, source in catalogue.sources.items():
            update = self.update(source)
            if self._last.get(provider_id) == update and self._infos.get(provider_id) is source.info:
                continue
            known = self._infos.get(provider_id)
            changed[provider_id] = update if known == source.info else replace(update, info=source.info)
            self._note(provider_id, update, source.info)
        for provider_id in self._last.keys() - catalogue.sources.keys():
            gone = replace(self._last.pop(provider_id), state=ProviderState.REMOVED)
            self._infos.pop(provider_id, None)
            self.emit(ProviderStateChanged(provider_id, ProviderState.REMOVED))
            changed[provider_id] = replace(gone, config_generation=catalogue.generation)
        if changed:
            self._send_all(changed)

    def _note(self, provider_id: str, update: ProviderUpdate, info: ProviderInfo) -> None:
        before = self._last.get(provider_id)
        if before is None or before.state is not update.state:
            self.emit(ProviderStateChanged(provider_id, update.state))
        self._last[provider_id], self._infos[provider_id] = update, info

    def _send_all(self, changed: dict[str, ProviderUpdate]) -> None:
        catalogue = self.service.catalogue
        for opened in self.sessions:
            if opened.hello.task not in catalogue.routes:
                continue
            serving = {source.info.provider_id for source in catalogue.serving(opened.hello.task)}
            for provider_id, update in changed.items():
                if provider_id in serving or update.state is ProviderState.REMOVED:
                    _send(opened, update)


def _send(opened: OpenSession, update: ProviderUpdate) -> None:
    data = codec.provider_update_to_proto(update).SerializeToString()
    opened.session.outbox.update(update.provider_id, data)
