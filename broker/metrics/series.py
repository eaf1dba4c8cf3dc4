"""Counters, gauges and histograms that take a whole message's rows at once.

prometheus-client's own observe one value a call, which a message of 256 rows cannot afford; these are
collectors that hand it finished families at each scrape. One thread writes, the event loop's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from math import inf

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry

SECONDS_BUCKETS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.002,
    0.004,
    0.008,  # a control step of the fastest shipped task
    0.02,
    0.05,  # a control step of the slowest one
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,  # the cap of a first answer
    10.0,
    25.0,
    60.0,
    120.0,
    300.0,
)
"""From a rule in process to a person. No step is wider than 2.5, so that a median read from the buckets is
within a factor of 2 of the true one, wherever in its bucket that lies."""

Labels = tuple[str, ...]


class Counter(Collector):
    def __init__(self, registry: CollectorRegistry, name: str, says: str, labels: Labels = ()) -> None:
        self._name, self._says, self._labels = name, says, labels
        self._values: dict[Labels, float] = {} if labels else {(): 0.0}
        registry.register(self)

    def add(self, labels: Labels = (), amount: float = 1) -> None:
        self._values[labels] = self._values.get(labels, 0.0) + amount

    def value(self, labels: Labels = ()) -> float:
        return self._values.get(labels, 0.0)

    def describe(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily(self._name, self._says, labels=self._labels)

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = next(self.describe())
        for labels, value in self._values.items():
            family.add_metric(labels, value)
        yield family


class Gauge(Collector):
    def __init__(self, registry: CollectorRegistry, name: str, says: str, labels: Labels = ()) -> None:
        self._name, self._says, self._labels = name, says, labels
        self._values: dict[Labels, float] = {} if labels else {(): 0.0}
        registry.register(self)

    def add(self, labels: Labels = (), amount: float = 1) -> None:
        self._values[labels] = self._values.get(labels, 0.0) + amount

    def set(self, labels: Labels, value: float) -> None:
        self._values[labels] = value

    def value(self, labels: Labels = ()) -> float:
        return self._values.get(labels, 0.0)

    def describe(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily(self._name, self._says, labels=self._labels)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = next(self.describe())
        for labels, value in self._values.items():
            family.add_metric(labels, value)
        yield family


class Histogram(Collector):
    """Seconds in :data:`SECONDS_BUCKETS`."""

    def __init__(self, registry: CollectorRegistry, name: str, says: str, labels: Labels = ()) -> None:
        self._name, self._says, self._labels = name, says, labels
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}
        registry.register(self)

    def observe(self, labels: Labels, seconds: float, rows: int = 1) -> None:
        """Note ``rows`` values of ``seconds``."""
        counts = self._counts.get(labels)
        if counts is None:
            counts = self._counts[labels] = [0] * (len(SECONDS_BUCKETS) + 1)
            self._sums[labels] = 0.0
        counts[bisect_left(SECONDS_BUCKETS, seconds)] += rows
        self._sums[labels] += seconds * rows

    def count(self, labels: Labels = ()) -> int:
        return sum(self._counts.get(labels, ()))

    def describe(self) -> Iterator[HistogramMetricFamily]:
        yield HistogramMetricFamily(self._name, self._says, labels=self._labels)

    def collect(self) -> Iterator[HistogramMetricFamily]:
        family = next(self.describe())
        for labels, counts in self._counts.items():
            family.add_metric(labels, _cumulative(counts), self._sums[labels])
        yield family


def _cumulative(counts: list[int]) -> list[tuple[str, float]]:
    buckets: list[tuple[str, float]] = []
    total = 0
    for bound, count in zip((*SECONDS_BUCKETS, inf), counts, strict=True):
        total += count
        buckets.append(("+Inf" if bound == inf else str(bound), total))
    return buckets
