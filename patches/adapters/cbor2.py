"""cbor2: refuses the sentinel, unless a ``default`` takes it, and writes piece by piece.

A ``default`` passes its replacement for a value to one of the encoder's methods.
"""

from __future__ import annotations

import cbor2
from cbor2 import CBOREncoder, CBORTag

from lazyentity.patches.adapters.calls import before, seams
from lazyentity.search import children_of

# Not every version has all of them.
_METHODS = [
    f"CBOREncoder.{name}"
    for name in (
        *("encode", "encode_to_bytes", "encode_map", "encode_array", "encode_semantic"),
        *("encode_value", "encode_sortable_key"),
    )
    if hasattr(CBOREncoder, name)
]

SEAMS = seams("cbor2", "dumps", "dump", *_METHODS, look=before)

children_of.register(CBORTag, lambda tag: (tag.value,))
# Older versions have a class of Python's.
if hasattr(cbor2, "frozendict"):
    children_of.register(cbor2.frozendict, lambda frozen: list(frozen.values()))
