"""python-rapidjson: refuses the sentinel, unless a ``default`` takes it.

``dump`` writes piece by piece, and an encoder may have a ``default`` method.
"""

from __future__ import annotations

from lazyentity.patches.adapters.calls import CallSeam, before, on_failure

SEAMS = (
    CallSeam("rapidjson", "dumps", on_failure, {"default": None}),
    CallSeam("rapidjson", "dump", before),
    CallSeam("rapidjson", "Encoder.__call__", before),
)
