"""cbor2: refuses the sentinel, unless a ``default`` takes it, and writes piece by piece."""

from __future__ import annotations

from lazyentity.patches.adapters.calls import CallSeam, before, seams

SEAMS = (
    *seams("cbor2", "dumps", "dump", look=before),
    CallSeam("cbor2", "CBOREncoder.encode", before),
)
