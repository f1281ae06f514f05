"""``python -m lazyentity doctor``: whether lazyentity works here, and what to do if it does not.

A module for each part of the report examines the process and changes nothing.
:mod:`~lazyentity.cli.doctor.report` shows the findings of all.
"""
