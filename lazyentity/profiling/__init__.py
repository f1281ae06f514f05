"""The profile: how much of the entities that a program reads it decodes, and where.

:mod:`~lazyentity.profiling.collection` counts, :mod:`~lazyentity.profiling.findings` says what the
counts mean, and :mod:`~lazyentity.profiling.report` has both as data. The other modules show the
report.
"""
