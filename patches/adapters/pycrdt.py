"""pycrdt: writes null for the sentinel into a shared document."""

from __future__ import annotations

from pycrdt._pycrdt import Transaction

from lazyentity._alive import holds_no_values
from lazyentity.patches.adapters.calls import before, seams

# Each call gets one.
holds_no_values(Transaction)

_OF_TEXT = ("format", "insert", "insert_embed")

SEAMS = (
    *seams("pycrdt._pycrdt", "Array.insert", "Map.insert", look=before),
    *seams("pycrdt._pycrdt", *(f"Text.{name}" for name in _OF_TEXT), look=before),
    *seams("pycrdt._pycrdt", *(f"XmlText.{name}" for name in _OF_TEXT), look=before),
    *seams(
        "pycrdt._pycrdt",
        *(f"{kind}.insert_attribute" for kind in ("XmlElement", "XmlText")),
        look=before,
    ),
)
