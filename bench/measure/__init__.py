"""The measurements: timing, memory, and the comparison of both sides' outputs."""
