"""pycrdt: writes null for the sentinel into a shared document."""

from __future__ import annotations

from pycrdt._pycrdt import Transaction

from lazyentity._alive import holds_no_values
from lazyentity.patches.adapters.calls import before, seams

# Each call gets one.
holds_no_values(Transaction)

_OF_TEXT = ("format", "insert", "insert_embed")
_METHODS = (
    *("Array.insert", "Map.insert", "XmlElement.insert_attribute", "XmlText.insert_attribute"),
    *(f"{kind}.{name}" for kind in ("Text", "XmlText") for name in _OF_TEXT),
)

SEAMS = seams("pycrdt._pycrdt", *_METHODS, look=before)
