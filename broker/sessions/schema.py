"""Whether what a session declares fits its task, and whether what it sends fits what it declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from broker.errors import InvalidRequest, PreconditionFailed
from broker.setup.task_folder import TaskFolder
from protos.types import ActionSpec, BoxAction, Hello, Query, Tensors, TensorSpec

Expected = Mapping[str, tuple[np.dtype, tuple[int, ...]]]


class Schema:
    """The tensors that each row of a session has. Made once, so that a check is a few comparisons."""

    def __init__(self, observations: Iterable[TensorSpec], context: Iterable[TensorSpec] = ()) -> None:
        self._observations = _expected(observations)
        self._context = _expected(context)

    def check(self, query: Query) -> None:
        """Raises InvalidRequest naming the tensor."""
        self.check_observations(query.observations)
        if query.context:
            _check(query.context, self._context, "context", complete=False)

    def check_observations(self, tensors: Tensors) -> None:
        _check(tensors, self._observations, "observations", complete=True)


def check_hello(hello: Hello, folder: TaskFolder | None) -> None:
    """Raises PreconditionFailed where a session's task is not the one that is configured here."""
    if folder is None:
        return
    declared, known = _expected(hello.observations), _expected(folder.observations)
    for name in known.keys() | declared.keys():
        if declared.get(name) != known.get(name):
            said = _words(declared.get(name))
            raise _mismatch(
                f"hello.observations[{name}]", f"is {said}; the task has {_words(known.get(name))}"
            )
    _check_action(hello.action, folder.action)
    names = folder.action.names if isinstance(folder.action, BoxAction) else ()
    for lane in hello.lanes:
        if names and lane.action_names and lane.action_names != names:
            raise _mismatch(
                "hello.lanes.action_names", f"are not the task's, in its order: {', '.join(names)}"
            )
        if folder.period_us and lane.period_us != folder.period_us:
            raise _mismatch("hello.lanes.period_us", f"is {lane.period_us}; the task has {folder.period_us}")


def _check_action(declared: ActionSpec, known: ActionSpec) -> None:
    if isinstance(declared, BoxAction) and isinstance(known, BoxAction):
        if declared.shape != known.shape:
            raise _mismatch("hello.action.shape", f"is {declared.shape}; the task has {known.shape}")
        if declared.names and known.names and declared.names != known.names:
            raise _mismatch(
                "hello.action.names", f"are not the task's, in its order: {', '.join(known.names)}"
            )
    elif declared != known:
        raise _mismatch("hello.action", "is not the task's action space")


def _mismatch(field: str, message: str) -> PreconditionFailed:
    return PreconditionFailed(f"{field}: {message}", "SCHEMA_MISMATCH", field)


def _expected(specs: Iterable[TensorSpec]) -> dict[str, tuple[np.dtype, tuple[int, ...]]]:
    return {spec.name: (spec.dtype, spec.shape) for spec in specs}


def _words(expected: tuple[np.dtype, tuple[int, ...]] | None) -> str:
    return "absent" if expected is None else f"{expected[0].name} {list(expected[1])}"


def _check(tensors: Tensors, expected: Expected, field: str, complete: bool) -> None:
    for name, array in tensors.items():
        spec = expected.get(name)
        if spec is None:
            raise _invalid(f"{field}[{name}]", "was not declared")
        if array.dtype != spec[0] or array.shape[1:] != spec[1]:
            given = _words((array.dtype, array.shape[1:]))
            raise _invalid(f"{field}[{name}]", f"is {given}; declared is {_words(spec)}")
    if complete and len(tensors) < len(expected):
        missing = next(name for name in expected if name not in tensors)
        raise _invalid(f"{field}[{missing}]", "is missing")


def _invalid(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(f"{field}: {message}", "INVALID_TENSOR", field)
