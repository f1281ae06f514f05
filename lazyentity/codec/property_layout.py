"""Layouts of the properties of a serialised ``EntityProto``: four bytes for each.

A layout is all of a property but its name and the contents of its value:

- the tag of its field;
- its meaning;
- flags;
- the kind of its contents.
"""

from __future__ import annotations

from typing import Final

SIZE: Final = 4
"""The bytes of a layout."""

PROPERTY_TAG: Final = 0x72
RAW_PROPERTY_TAG: Final = 0x7A

OTHER_MEANING: Final = 0xFF
"""Stands for a meaning that does not fit into the byte."""

MULTIPLE: Final = 1
COMPRESSED: Final = 2
"""The ``meaning_uri`` is that of compressed values."""
OTHER_URI: Final = 4

NULL: Final = 0
INTEGER: Final = 0x08
BOOLEAN: Final = 0x10
STRING: Final = 0x1A
DOUBLE: Final = 0x21
POINT: Final = 0x2B
REFERENCE: Final = 0x63
"""A key with a path, whose elements have an id, a name or neither, and without a database."""
OTHER: Final = 0xFF
"""Anything else, in the property or in its value: unknown fields, several values."""

COMPRESSED_URI: Final = b"ZLIB"


def layout(field: int, meaning: int, flags: int, contents: int) -> bytes:
    """Return the layout of a property."""
    return bytes((field, meaning, flags, contents))
