"""``python -m lazyentity doctor``: whether lazyentity works here, and what to do if it does not.

A module for each part of the report, which looks and changes nothing, and
:mod:`~lazyentity.cli.doctor.report`, which shows the findings of all.
"""
