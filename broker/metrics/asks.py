"""What became of asks."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from broker import events
from broker.metrics.handlers import Handlers
from broker.metrics.names import Names
from broker.metrics.series import Counter, Gauge, Histogram
from protos.types import AskOutcome

_OUTCOMES = {outcome: outcome.name.lower() for outcome in AskOutcome}


class AskMetrics:
    """Received minus ended is what is in flight, and the outcomes add up to what ended."""

    def __init__(self, registry: CollectorRegistry, names: Names) -> None:
        who = ("tenant", "task")
        self._names = names
        self.received = Counter(registry, "guidance_asks_received", "Asks that entered handling.", who)
        self.ended = Counter(
            registry, "guidance_asks_ended", "Asks by how they ended for their caller.", (*who, "outcome")
        )
        self.in_flight = Gauge(registry, "guidance_asks_in_flight", "Asks received and not ended.")
        self.first_answer = Histogram(
            registry,
            "guidance_ask_first_answer_seconds",
            "From an ask's receipt to its first usable answer, or to its end without one.",
            ("provider",),
        )
        self.late_answers = Counter(
            registry,
            "guidance_late_answers",
            "Answers that followed an earlier one of the same ask.",
            ("provider", "kind"),
        )
        self.invalid_inputs = Counter(
            registry, "guidance_invalid_inputs", "Rows and calls refused as the caller's fault.", ("reason",)
        )
        self.dropped = Counter(
            registry, "guidance_answers_dropped", "Answers nobody could act on any more.", ("reason",)
        )

    def handlers(self) -> Handlers:
        return {
            events.AskReceived: self._received,
            events.AskEnded: self._ended,
            events.LateAnswerSent: self._late_answer_sent,
            events.InvalidInput: lambda e: self.invalid_inputs.add((self._names.reason(e.reason),)),
            events.AnswerDropped: lambda e: self.dropped.add((self._names.reason(e.why),), e.rows),
        }

    def _received(self, event: events.AskReceived) -> None:
        self.received.add((self._names.name(event.tenant), self._names.name(event.task)), event.rows)
        self.in_flight.add((), event.rows)

    def _ended(self, event: events.AskEnded) -> None:
        name = self._names.name
        self.ended.add((name(event.tenant), name(event.task), _OUTCOMES[event.outcome]), event.rows)
        self.in_flight.add((), -event.rows)
        self.first_answer.observe((name(event.provider_id),), event.seconds, event.rows)

    def _late_answer_sent(self, event: events.LateAnswerSent) -> None:
        labels = (self._names.name(event.provider_id), self._names.reason(event.kind.lower()))
        self.late_answers.add(labels, event.rows)
