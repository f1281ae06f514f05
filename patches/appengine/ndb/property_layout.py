"""The layouts in which ndb writes the properties of a model.

A layout is all of a serialised property but its name and the contents of its value. A property
whose layout is one that ndb would write for it need not be read to be written.
"""

from __future__ import annotations

import datetime
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

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


class Kept(NamedTuple):
    """The properties of an entity that ndb would write as they came, and the others of its model.

    Attributes:
        names: the names of the properties to write as they came, in order.
        by_stored: the same names, by the names in ``_values``.
        others: the names of the other properties, in order.
    """

    names: list[str]
    by_stored: dict[bytes, str]
    others: list[str]

    def without(self, read: list[bytes]) -> tuple[list[str], list[str]]:
        """Return ``names`` and ``others``, with the read properties among ``others``.

        Args:
            read: the names in ``_values`` of the read properties, perhaps with further names.
        """
        names, others = self.names, self.others
        if read:
            names, others = names.copy(), others.copy()
            for stored in read:
                name = self.by_stored.get(stored)
                if name is not None:
                    del names[bisect_left(names, name)]
                    insort(others, name)
        return names, others


class Writing:
    """How models that were made by one mapping are written.

    Args:
        model_class: the class of the models.
        mapping: the mapping.

    Attributes:
        has_required: whether a property may be missing.
        preparing: the names of the properties that may change before they are written, in order.
        plain: by name, the stored names of the properties that ndb alone writes, if the type of
            the value is in ``_OWN_TYPES``.
    """

    def __init__(self, model_class: Any, mapping: Any) -> None:
        # Another thread can add a property to the class.
        defined = dict(model_class._properties)
        self._names = frozenset(defined)
        serialises = all(
            inherits(type(prop), ("_serialize",), model.Property, model.StructuredProperty)
            for prop in defined.values()
        )
        self.has_required = not inherits(model_class, CHECKING, _Model) or any(
            prop._required or not inherits(type(prop), ("_is_initialized",), model.Property)
            for prop in defined.values()
        )
        self.preparing = sorted(
            name
            for name, prop in defined.items()
            if not inherits(prop, ("_prepare_for_put",), model.Property)
        )
        self.plain = {name: name.encode() for name, prop in defined.items() if _is_plain(prop)}
        self._layouts = {
            stored.decode(): (layouts_of(prop), prop._repeated)
            for stored, prop in mapping.declared.items()
            if serialises and mapping.names[stored] == (stored.decode(),)
        }
        # By the layouts of an entity.
        self._kept: BoundedCache[bytes, Kept] = BoundedCache(MAX_BYTES // 64)

    def may_run_code(self, name: str, values: Any) -> bool:
        """Say whether writing a property may run code that is not ndb's.

        Args:
            name: of the property.
            values: of the model.
        """
        stored = self.plain.get(name)
        value: Any = None if stored is None else dict.get(values, stored)
        if type(value) is _BaseValue:
            value = value.b_val
        return stored is None or type(value) not in _OWN_TYPES

    def kept(self, index: Any) -> Kept:
        """Return the properties that ndb would write as they came."""
        layouts = index.layouts()
        kept = self._kept.get(layouts)
        if kept is None:
            names = sorted(self._find_kept(index, layouts))
            by_stored = {name.encode(): name for name in names}
            kept = Kept(names, by_stored, sorted(self._names.difference(names)))
            self._kept.keep(layouts, kept, len(layouts) + 200 * len(self._names))
        return kept

    def _find_kept(self, index: Any, layouts: bytes) -> Iterator[str]:
        by_name: dict[str, list[bytes]] = {}
        for position, name in enumerate(index.entry_names()):
            by_name.setdefault(name, []).append(layouts[SIZE * position : SIZE * (position + 1)])
        for name, found in by_name.items():
            allowed, is_repeated = self._layouts.get(name, (frozenset(), False))
            if (is_repeated or len(found) == 1) and allowed.issuperset(found):
                yield name


_BaseValue = model._BaseValue
_OWN_TYPES = frozenset(
    (bool, bytes, datetime.date, datetime.datetime, datetime.time, float, int, str, type(None))
)
_PLAIN_TYPES = frozenset(
    (
        model.BlobProperty,
        model.BooleanProperty,
        model.DateProperty,
        model.DateTimeProperty,
        model.FloatProperty,
        model.IntegerProperty,
        model.StringProperty,
        model.TextProperty,
        model.TimeProperty,
    )
)


def _is_plain(prop: Any) -> bool:
    return type(prop) in _PLAIN_TYPES and bool(layouts_of(prop)) and not prop._repeated


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
