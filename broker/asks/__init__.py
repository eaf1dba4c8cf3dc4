"""One ask: whether it is taken on, who it is, what it is answered with, and what is remembered of it."""
