"""lru-dict: a cache that is updated from a dict keeps the sentinel."""

from __future__ import annotations

from lazyentity.patches.adapters.calls import CallSeam, before

SEAMS = (CallSeam("lru", "LRU.update", before, is_flat=True),)
