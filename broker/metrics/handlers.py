"""Which function an event moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Handlers = Mapping[type, Callable[[Any], None]]
