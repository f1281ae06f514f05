"""The harness of every benchmark: timing, processes, comparison, and the results file."""
