"""Label values are a closed set: what is in no list reads "other", so that no caller can make a series."""

from __future__ import annotations

from collections.abc import Iterable

OTHER = "other"
NOBODY = "none"
_MAX_REASONS = 64


class Names:
    """Configured names of tenants, tasks and sources, and reasons, which are constants of our own code."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"": NOBODY}
        self._reasons: set[str] = set()

    def know(self, names: Iterable[str]) -> None:
        self._known = {"": NOBODY} | {name: name for name in names}

    def name(self, name: str) -> str:
        return self._known.get(name, OTHER)

    def reason(self, reason: str) -> str:
        """The reason itself; the bound is a seat belt."""
        if len(self._reasons) < _MAX_REASONS:
            self._reasons.add(reason)
        return reason if reason in self._reasons else OTHER
