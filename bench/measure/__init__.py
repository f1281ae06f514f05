"""The benchmarks that only the documentation shows, each its own command.

They run from a checkout: no distribution installs them.
"""
