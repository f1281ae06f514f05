"""immutables: a Map keeps the sentinel."""

from __future__ import annotations

from lazyentity.patches.adapters.calls import CallSeam, before

SEAMS = (CallSeam("immutables", "Map.__init__", before),)
