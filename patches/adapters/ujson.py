"""ujson: refuses the sentinel, unless a ``default`` takes it; ``dump`` writes all or nothing."""

from __future__ import annotations

from lazyentity.patches.adapters.calls import on_failure, seams

SEAMS = seams("ujson", "dumps", "encode", "dump", look=on_failure, about={"default": 8})
