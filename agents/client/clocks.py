"""An agent always sets its clocks; these are the ones it sets when the caller named none."""

from __future__ import annotations

from dataclasses import replace

from protos.types import AskOptions, ProviderInfo, ProviderKind

FIRST_ANSWER_MS = 5_000
FINAL_MS = {
    ProviderKind.PLANNER: 10_000,
    ProviderKind.LLM: 60_000,
    ProviderKind.HUMAN: 300_000,
}
OTHER_FINAL_MS = 5_000


def with_clocks(options: AskOptions, info: ProviderInfo | None) -> AskOptions:
    """`options` with both clocks set. `info` is the provider asked for, None where the route decides."""
    if options.first_answer_by_ms is not None and options.final_by_ms is not None:
        return options
    first = FIRST_ANSWER_MS if options.first_answer_by_ms is None else options.first_answer_by_ms
    final = options.final_by_ms
    if final is None:
        own = OTHER_FINAL_MS if info is None else FINAL_MS.get(info.kind, OTHER_FINAL_MS)
        final = max(own, first)
    return replace(options, first_answer_by_ms=first, final_by_ms=final)


class Clocks:
    """`with_clocks`, remembered for the options last seen: a loop asks with the same object at every step."""

    def __init__(self) -> None:
        self._given: AskOptions | None = None
        self._info: ProviderInfo | None = None
        self._set: AskOptions | None = None

    def set(self, options: AskOptions, info: ProviderInfo | None) -> AskOptions:
        if self._set is None or options is not self._given or info is not self._info:
            self._given, self._info, self._set = options, info, with_clocks(options, info)
        return self._set
