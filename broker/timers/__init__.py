"""Waiting until a moment: many alarms on one task, and a kernel timer for exact ones."""
