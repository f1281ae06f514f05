"""python-rapidjson: refuses the sentinel, unless a ``default`` takes it.

``dump`` writes piece by piece, and an encoder may have a ``default`` method.
"""

from __future__ import annotations

from lazyentity.patches.adapters.calls import before, on_failure, seam, subclass

SEAMS = (
    seam("rapidjson", "dumps", on_failure, {"default": None}),
    seam("rapidjson", "dump", before),
    subclass("rapidjson", "Encoder", {"__call__": before}),
)
