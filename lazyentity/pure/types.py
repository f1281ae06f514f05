"""Versions of classes, which CPython shows only to compiled code."""

from __future__ import annotations


def type_version(_kind: type) -> int:
    """Return a number that changes whenever an attribute of a class or its bases is set or deleted.

    A change inside an attribute's value does not change it.

    Returns:
        0, if there is no such number; always 0 without the native backend.
    """
    return 0
