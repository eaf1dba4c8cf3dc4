"""Guidance on a virtual clock: the sources run in this process, recorded latencies say when answers count."""
