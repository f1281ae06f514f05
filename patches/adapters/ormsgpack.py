"""ormsgpack: refuses the sentinel, unless a ``default`` takes it."""

from __future__ import annotations

from lazyentity.patches.adapters.calls import CallSeam, on_failure

SEAMS = (CallSeam("ormsgpack", "packb", on_failure, {"default": 1}, is_flat=True),)
