"""The guidance broker: one address in front of every source of guidance."""
