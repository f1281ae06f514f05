"""What can be told of a class without the native backend."""

from __future__ import annotations


def type_version(_kind: type) -> int:
    """Return a number that changes whenever an attribute of a class or its bases is set or deleted.

    It does not tell what happens to an attribute's own content.

    Returns:
        0, if there is no such number: always, without the native backend.
    """
    return 0
