"""What a running broker does besides answering: reload, drain, log, and watch its own loop."""
