"""The benchmarks that only the documentation shows, each a command of its own.

They run from a checkout: no distribution installs them.
"""
