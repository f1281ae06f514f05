"""The items of an iterator, of the pure backend; :mod:`lazyentity._items` documents them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def decode_items(iterator: Any, decode: Callable[[Any], object]) -> bool:
    """As :data:`lazyentity._items.decode_items`: Python code cannot do that."""
    return False
