"""Whether and whom to ask: the decision, its training on a virtual clock, its proof against a live broker."""
