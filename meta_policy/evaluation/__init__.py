"""How methods are compared: paired episodes, operating points, intervals, rows and tables."""
