"""python-rapidjson: refuses the sentinel, but may have consumed an iterator by then.

``dump`` writes piece by piece, and an encoder may have a ``default`` method, whose results are not
decoded.
"""

from __future__ import annotations

from lazyentity.patches.adapters.calls import CallSeam, deeply_before, seams

_HOOKS = {"default": None}

SEAMS = (
    *seams("rapidjson", "dumps", "dump", look=deeply_before, about=_HOOKS, is_flat=True),
    CallSeam("rapidjson", "Encoder.__call__", deeply_before, is_flat=True),
)
