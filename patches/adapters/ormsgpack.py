"""ormsgpack: refuses the sentinel, unless a ``default`` takes it."""

from __future__ import annotations

from lazyentity.patches.adapters.calls import on_failure, seam

SEAMS = (seam("ormsgpack", "packb", on_failure, {"default": 1}),)
