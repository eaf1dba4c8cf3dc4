"""Guidance over a live broker in real time: wire, ticks, provider table, a broker of one's own."""
