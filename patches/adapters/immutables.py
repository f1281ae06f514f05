"""immutables: a Map keeps the sentinel."""

from __future__ import annotations

from lazyentity.patches.adapters.calls import constructor

SEAMS = (constructor("immutables", "Map"),)
