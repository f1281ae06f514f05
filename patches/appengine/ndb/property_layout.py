"""The layouts in which ndb writes the properties of a model.

A layout is all of a serialised property but its name and the contents of its value. A property
whose layout is one that ndb would write for it need not be read to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from google.appengine.datastore.entity_bytes_pb2 import Property
from google.appengine.ext.ndb import model

from lazyentity.codec.cache import MAX_BYTES, BoundedCache
from lazyentity.patches.appengine.ndb.seams import CHECKING, WRITING
from lazyentity.patches.inheritance import inherits

# A layout has a byte each for the tag of the field, the meaning, flags and the kind of contents.
SIZE: Final = 4

PROPERTY_TAG: Final = 0x72
RAW_PROPERTY_TAG: Final = 0x7A

MULTIPLE: Final = 1
COMPRESSED: Final = 2
"""The ``meaning_uri`` is that of compressed values."""

NULL: Final = 0
INTEGER: Final = 0x08
BOOLEAN: Final = 0x10
STRING: Final = 0x1A
DOUBLE: Final = 0x21
POINT: Final = 0x2B
REFERENCE: Final = 0x63
"""A key with a path, whose elements have an id, a name or neither, and without a database."""

_Model: Any = model.Model
_NO_MEANING = Property.NO_MEANING

# (meaning, whether it is compressed, contents)
_Written = tuple[int, bool, int]
_Layouts = Callable[[Any], list[_Written]]


def _always(meaning: int, contents: int) -> _Layouts:
    return lambda prop: [(meaning, False, contents)]


_UNCOMPRESSED_MEANINGS: dict[Any, Callable[[Any], int]] = {
    model.BlobProperty: lambda prop: Property.BYTESTRING if prop._indexed else Property.BLOB,
    model.TextProperty: lambda prop: _NO_MEANING if prop._indexed else Property.TEXT,
    model.LocalStructuredProperty: lambda prop: Property.ENTITY_PROTO,
}
"""By the class whose ``_db_set_uncompressed_meaning`` a property has: that meaning."""


def _blob_layouts(prop: Any) -> list[_Written]:
    written = [
        (meaning(prop), False, STRING)
        for kind, meaning in _UNCOMPRESSED_MEANINGS.items()
        if inherits(type(prop), ("_db_set_uncompressed_meaning",), kind)
    ]
    if inherits(type(prop), ("_db_set_compressed_meaning",), model.BlobProperty):
        written.append((Property.BLOB, True, STRING))
    return written


_LAYOUTS: dict[Any, _Layouts] = {
    model.BlobKeyProperty: _always(Property.BLOBKEY, STRING),
    model.BlobProperty: _blob_layouts,
    model.BooleanProperty: _always(_NO_MEANING, BOOLEAN),
    model.DateTimeProperty: _always(Property.GD_WHEN, INTEGER),
    model.FloatProperty: _always(_NO_MEANING, DOUBLE),
    model.GeoPtProperty: _always(Property.GEORSS_POINT, POINT),
    model.IntegerProperty: _always(_NO_MEANING, INTEGER),
    model.KeyProperty: _always(_NO_MEANING, REFERENCE),
}
"""By the class whose ``_db_get_value`` and ``_db_set_value`` a property has."""


def layouts_of(prop: Any) -> frozenset[bytes]:
    """Return the layouts that ndb reads and writes back unchanged; none, if it may change any."""
    if not inherits(prop, WRITING, model.Property) or any(
        name.startswith("_db_") for name in vars(prop)
    ):
        return frozenset()
    known = (
        layouts(prop)
        for kind, layouts in _LAYOUTS.items()
        if inherits(type(prop), ("_db_get_value", "_db_set_value"), kind)
    )
    written = next(known, None)
    if written is None:
        return frozenset()
    field = PROPERTY_TAG if prop._indexed else RAW_PROPERTY_TAG
    flags = MULTIPLE if prop._repeated else 0
    found = {
        bytes((field, meaning, flags | (COMPRESSED if compressed else 0), contents))
        for meaning, compressed, contents in written
    }
    if not prop._repeated:
        found.add(bytes((field, _NO_MEANING, flags, NULL)))
    return frozenset(found)


WrittenName = tuple[str, bytes | None]
"""The name of a property, and its name in ``_values`` if ndb would write it as it came."""


class Writing:
    """How models that were made by one mapping are written.

    Args:
        model_class: the class of the models.
        mapping: the mapping.

    Attributes:
        has_required: whether a property may be missing.
        preparing: the names of the properties that may change before they are written, in order.
    """

    def __init__(self, model_class: Any, mapping: Any) -> None:
        # Another thread can add a property to the class.
        defined = dict(model_class._properties)
        self._names = sorted(defined)
        serialises = all(
            inherits(type(prop), ("_serialize",), model.Property, model.StructuredProperty)
            for prop in defined.values()
        )
        self.has_required = not inherits(model_class, CHECKING, _Model) or any(
            prop._required or not inherits(type(prop), ("_is_initialized",), model.Property)
            for prop in defined.values()
        )
        self.preparing = [
            name
            for name in self._names
            if not inherits(defined[name], ("_prepare_for_put",), model.Property)
        ]
        self._layouts = {
            stored.decode(): (layouts_of(prop), prop._repeated)
            for stored, prop in mapping.declared.items()
            if serialises and mapping.names[stored] == (stored.decode(),)
        }
        # By the layouts of an entity.
        self._written: BoundedCache[bytes, list[WrittenName]] = BoundedCache(MAX_BYTES // 64)

    def names(self, index: Any) -> list[WrittenName]:
        """Return the names of the properties in order; ``index`` is of the entity."""
        layouts = index.layouts()
        names = self._written.get(layouts)
        if names is None:
            kept = set(self._find_kept(index, layouts))
            names = [(name, name.encode() if name in kept else None) for name in self._names]
            self._written.keep(layouts, names, len(layouts) + 200 * len(names))
        return names

    def _find_kept(self, index: Any, layouts: bytes) -> Iterator[str]:
        by_name: dict[str, list[bytes]] = {}
        for position, name in enumerate(index.entry_names()):
            by_name.setdefault(name, []).append(layouts[SIZE * position : SIZE * (position + 1)])
        for name, found in by_name.items():
            allowed, is_repeated = self._layouts.get(name, (frozenset(), False))
            if (is_repeated or len(found) == 1) and allowed.issuperset(found):
                yield name


def writing_of(entity: Any) -> Writing | None:
    """Return how to write a model; None, if its properties are not those it was made with."""
    values, properties = entity._values, entity._properties
    mapping = values._mapping
    if entity._projection or properties is not mapping.known:
        return None
    if mapping.writing is None:
        mapping.writing = Writing(values._model_class, mapping)
    writing: Writing = mapping.writing
    return writing
