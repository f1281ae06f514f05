"""python-rapidjson: refuses the sentinel, unless a ``default`` takes it.

``dump`` writes piece by piece, and an encoder may have a ``default`` method, whose results are not
decoded.
"""

from __future__ import annotations

from lazyentity.patches.adapters.calls import CallSeam, before, on_failure

_HOOKS = {"default": None}

SEAMS = (
    CallSeam("rapidjson", "dumps", on_failure, _HOOKS),
    CallSeam("rapidjson", "dump", before, _HOOKS),
    CallSeam("rapidjson", "Encoder.__call__", before),
)
