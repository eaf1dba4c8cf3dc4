"""What this broker does not serve yet is refused by name, never ignored."""

from __future__ import annotations

from broker.errors import InvalidRequest, NotServed
from protos.types import AskMode, AskOptions, GuidanceKind


def refuse_unserved(options: AskOptions, max_hold_steps: int) -> None:
    """Raises :class:`broker.errors.NotServed`, or InvalidRequest for a hold beyond the limit."""
    if options.mode is AskMode.PREDICT_ONLY:
        raise NotServed(
            "options.mode: PREDICT_ONLY is not served: no source is predicted here", field="options.mode"
        )
    if GuidanceKind.RESIDUAL in options.kinds:
        raise NotServed("options.kinds: RESIDUAL is reserved: no source sends it yet", field="options.kinds")
    if options.hold_steps and options.mode is AskMode.CACHE_ONLY:
        raise InvalidRequest("options.mode: a lease is never cached; ask NORMAL", field="options.mode")
    if options.hold_steps > max_hold_steps:
        raise InvalidRequest(
            f"options.hold_steps: {options.hold_steps}; at most {max_hold_steps}", field="options.hold_steps"
        )
