"""The demo: four agents against a live broker, shown while they play and told in a report."""
