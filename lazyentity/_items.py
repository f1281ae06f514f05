"""Decoding the items of an iterator as C code takes them; the iterator stays the same object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyentity._choice import without_client

_chosen: Any = without_client("items")

decode_items: Callable[[Any, Callable[[Any], object]], bool] = _chosen.decode_items
"""Called with an iterator, and with a function for each item that C code takes from it.

The iterator is a generator, a ``map``, a ``starmap`` or an ``accumulate``; items of others are in
containers. Returns whether that will be done: the pure backend cannot do it.
"""
