"""What a session is: its messages, lanes, schema and outbox, and the table of all that are open. No gRPC."""
