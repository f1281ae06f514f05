"""cbor2: refuses the sentinel, unless a ``default`` takes it, and writes piece by piece.

A ``default`` passes its replacement for a value to one of the encoder's methods.
"""

from __future__ import annotations

from cbor2 import CBOREncoder

from lazyentity.patches.adapters.calls import before, seams

# Not every version has all of them.
_METHODS = [
    f"CBOREncoder.{name}"
    for name in ("encode", "encode_to_bytes", "encode_map", "encode_array", "encode_semantic")
    if hasattr(CBOREncoder, name)
]

SEAMS = seams("cbor2", "dumps", "dump", *_METHODS, look=before)
