"""Which source to try, in which order: pure strategies that return a plan and do no I/O."""
