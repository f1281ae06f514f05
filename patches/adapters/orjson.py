"""orjson: refuses the sentinel, unless a ``default`` takes it."""

from __future__ import annotations

from lazyentity.patches.adapters.calls import on_failure, seam

SEAMS = (seam("orjson", "dumps", on_failure, {"default": 1}),)
