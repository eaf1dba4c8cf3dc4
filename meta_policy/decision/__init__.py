"""What decides: the learnt head and what it sees, the plain methods beside it, and the fallback of both."""
