"""Answers that are still good: keys, stores and the one interface before them."""
