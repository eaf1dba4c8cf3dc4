"""What every route has in common. Each strategy adds its own keys beside its code."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from broker.config.strict import Many, Strict


class RouteSettings(Strict):
    """``[tasks.NAME.route]``: which sources a task may use and how one is chosen."""

    strategy: str
    providers: Annotated[Many[str], Field(min_length=1)]
    fallback: str = ""  # a source to fall back on when the plan fails; empty: none
