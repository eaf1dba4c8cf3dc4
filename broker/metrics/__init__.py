"""Prometheus metrics: a listener of :mod:`broker.events` that exposes what it counted."""

from broker.metrics.metrics import Metrics

__all__ = ["Metrics"]
