"""The benchmarks that only the documentation shows, each its own command.

They run from a checkout: no distribution installs them. As in `lazyentity.bench.subjects`, each
``measure`` raises `verify.OutputMismatch` if the ways that it times give different results.
"""
