"""Bounds: on the memory of learned shapes, and on values that JSON has types for."""

from __future__ import annotations

from collections.abc import Hashable
from sys import getsizeof
from typing import Any, Final

MAX_BYTES = 4 * 1024 * 1024
"""The bytes that one cache of learned names may take."""

MAX_CONTAINERS: Final = 200
"""How deep dicts and lists of JSON may be inside of each other."""

RESERVED: Final = "$"
"""The key that marks dicts of packed documents with another meaning than their own."""


def learned_bytes(signature: Hashable, template: dict[str, Any]) -> int:
    """Return about how many bytes a shape takes, together with the key of its cache entry.

    Args:
        signature: the key of the cache entry.
        template: the names of the properties, mapped to anything.
    """
    # Names are in two dicts and a tuple. An ordinal takes 32 bytes, and there is a header or the
    # name of a oneof case for each name.
    names = sum(map(getsizeof, template)) + 64 * len(template)
    return getsizeof(signature) + 2 * getsizeof(template) + names
