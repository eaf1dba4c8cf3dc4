"""Rules: functions from raw observations to actions, in process and free of state.

A rule is a shipped one, found by the task's name, or a ``module:function`` that the operator lists in the
configuration. Text is never evaluated.
"""

from __future__ import annotations

import asyncio
import importlib
import re
from collections.abc import Callable, Mapping

import numpy as np

from broker.config import ProviderSettings
from broker.outcomes import AttemptOutcome
from broker.providers.interface import Call, Guided, ProviderError
from broker.providers.making import Making, SetupError
from broker.providers.shipped_rules import SHIPPED_RULES
from broker.setup.task_folder import TaskFolder
from protos.types import (
    ActionAdvice,
    BoxAction,
    GuidanceKind,
    ProviderInfo,
    ProviderKind,
    ProviderState,
    Query,
    Tensors,
)

Rule = Callable[[Tensors], np.ndarray]
"""Named observations ``[B, ...]`` in, actions ``[B, A]`` out; called on the event loop: be quick."""

_ENTRY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


class RulesSettings(ProviderSettings):
    """``rule``: a shipped rule's name or ``module:function``; empty: the shipped rule of each task."""

    rule: str = ""


class RulesProvider:
    """Answers each task's rows by that task's rule, clipped to the task's bounds."""

    never_waits = True

    def __init__(
        self, info: ProviderInfo, rules: Mapping[str, Rule], tasks: Mapping[str, TaskFolder]
    ) -> None:
        self.info = info
        self.state = ProviderState.READY
        self._rules = rules
        self._bounds = {name: _bounds(tasks[name].action) for name in rules}

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def guide(self, query: Query, call: Call) -> Guided:
        return self.guide_now(query, call)

    def answers_now(self, query: Query) -> bool:
        return True

    def guide_now(self, query: Query, call: Call) -> Guided:
        """As :meth:`guide`; a rule never waits."""
        rule = self._rules.get(call.task)
        if rule is None:
            return Guided(AttemptOutcome.NO_GUIDANCE)
        try:
            actions = np.asarray(rule(query.observations), np.float32)
        except (Exception, asyncio.CancelledError) as error:
            raise ProviderError(
                AttemptOutcome.PROVIDER_FAULT, f"the rule raised {type(error).__name__}"
            ) from error
        low, high = self._bounds[call.task]
        if actions.shape != (query.rows, len(low)) or not np.isfinite(actions).all():
            return Guided(AttemptOutcome.INVALID)
        return Guided(AttemptOutcome.OK, ActionAdvice(np.minimum(np.maximum(actions, low), high)))


def make_rules(settings: RulesSettings, making: Making) -> RulesProvider:
    """One rule for every task of ``making``; SetupError where a task has none."""
    if not making.tasks:
        raise SetupError("tasks", "a rules provider needs at least one configured task")
    rules = {name: find_rule(settings.rule or folder.task) for name, folder in making.tasks.items()}
    folders = list(making.tasks.values())
    alone = folders[0] if len(folders) == 1 else None
    info = ProviderInfo(
        provider_id=settings.id,
        kind=ProviderKind.RULES,
        guidance_kinds=frozenset({GuidanceKind.ACTION}),
        price=settings.price.price(),
        tasks=tuple(making.tasks),
        observations=alone.observations if alone else (),
        action=alone.action if alone else None,
        timeout_ms=settings.timeout_ms,
        max_concurrency=settings.max_concurrency,
        leasable=True,
    )
    return RulesProvider(info, rules, making.tasks)


def find_rule(name: str) -> Rule:
    """The shipped rule of that name, or the function that ``module:function`` names."""
    if name in SHIPPED_RULES:
        return SHIPPED_RULES[name]
    if not _ENTRY.fullmatch(name):
        shipped = ", ".join(SHIPPED_RULES)
        raise SetupError(
            "rule", f"no shipped rule {name!r} (there are {shipped}); give module:function for your own"
        )
    module, function = name.split(":")
    try:
        rule = getattr(importlib.import_module(module), function)
    except Exception as error:  # whatever the operator's module does as it is imported
        raise SetupError("rule", f"{name!r} cannot be imported: {error}") from error
    if not callable(rule):
        raise SetupError("rule", f"{name!r} is not a function")
    found: Rule = rule
    return found


def _bounds(action: object) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(action, BoxAction):
        raise SetupError("tasks", "rules answer continuous actions only")
    return np.asarray(action.low, np.float32), np.asarray(action.high, np.float32)
