"""Load tests: a black box from outside. Starts the broker as a process and knows only the contract."""
