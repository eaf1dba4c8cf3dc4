"""Asks that are answered for so many steps: what a lease is, its story, and those that a session holds."""
