"""The layouts in which ndb writes the properties of a model.

A layout is all of a serialised property but its name and the contents of its value. A property
whose layout is one that ndb would write for it need not be read to be written.
"""

from __future__ import annotations

import datetime
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from google.appengine.datastore.entity_bytes_pb2 import Property
from google.appengine.ext.ndb import model

from lazyentity.codec.cache import BoundedCache
from lazyentity.codec.limits import MAX_BYTES
from lazyentity.codec.property_layout import (
    BOOLEAN,
    COMPRESSED,
    DOUBLE,
    INTEGER,
    MULTIPLE,
    NULL,
    POINT,
    PROPERTY_TAG,
    RAW_PROPERTY_TAG,
    REFERENCE,
    SIZE,
    STRING,
    layout,
)
from lazyentity.patches.appengine.ndb.upstream import methods, upstream_function, upstream_functions
from lazyentity.patches.upstream import entry_of, is_upstream

_Model: Any = model.Model
_NO_MEANING = Property.NO_MEANING

# (meaning, whether it is compressed, contents)
_Written = tuple[int, bool, int]
_Layouts = Callable[[Any], list[_Written]]

# The methods that write the value of a property, and those that give it the value of an entity.
_WRITING = methods(
    model.Property,
    "_apply_to_values",
    "_deserialize",
    "_get_base_value",
    "_get_base_value_unwrapped_as_list",
    "_opt_call_to_base_type",
    "_retrieve_value",
    "_serialize",
    "_store_value",
)
_SERIALIZING = upstream_functions("_serialize", model.Property, model.StructuredProperty)
_CHECKING = methods(_Model, "_check_initialized", "_find_uninitialized")
_is_initialized = upstream_function(model.Property, "_is_initialized")
_nothing_to_prepare = upstream_function(model.Property, "_prepare_for_put")


def _always(meaning: int, contents: int) -> _Layouts:
    return lambda prop: [(meaning, False, contents)]


_UNCOMPRESSED_MEANINGS: dict[Any, Callable[[Any], int]] = {
    upstream_function(model.BlobProperty, "_db_set_uncompressed_meaning"): lambda prop: (
        Property.BYTESTRING if prop._indexed else Property.BLOB
    ),
    upstream_function(model.TextProperty, "_db_set_uncompressed_meaning"): lambda prop: (
        _NO_MEANING if prop._indexed else Property.TEXT
    ),
    upstream_function(model.LocalStructuredProperty, "_db_set_uncompressed_meaning"): lambda prop: (
        Property.ENTITY_PROTO
    ),
}
_set_compressed_meaning = upstream_function(model.BlobProperty, "_db_set_compressed_meaning")


def _of_blob(prop: Any) -> list[_Written]:
    written = []
    meaning_of = type(prop)._db_set_uncompressed_meaning
    meaning = entry_of(meaning_of, _UNCOMPRESSED_MEANINGS)
    if meaning is not None:
        written.append((meaning(prop), False, STRING))
    if type(prop)._db_set_compressed_meaning is _set_compressed_meaning:
        written.append((Property.BLOB, True, STRING))
    return written


def _of_generic(prop: Any) -> list[_Written]:
    written = [(_NO_MEANING, False, contents) for contents in (BOOLEAN, DOUBLE, INTEGER)]
    written.append((Property.GD_WHEN, False, INTEGER))
    written.append((Property.GEORSS_POINT, False, POINT))
    written.append((Property.BLOB, True, STRING))
    if prop._indexed:
        # Of an unindexed string, the meaning depends on its contents.
        written.append((_NO_MEANING, False, STRING))
    return written


_LAYOUTS: dict[tuple[Any, ...], _Layouts] = {
    (upstream_function(kind, "_db_get_value"), upstream_function(kind, "_db_set_value")): layouts
    for kind, layouts in {
        model.BlobKeyProperty: _always(Property.BLOBKEY, STRING),
        model.BlobProperty: _of_blob,
        model.BooleanProperty: _always(_NO_MEANING, BOOLEAN),
        model.DateTimeProperty: _always(Property.GD_WHEN, INTEGER),
        model.FloatProperty: _always(_NO_MEANING, DOUBLE),
        model.GenericProperty: _of_generic,
        model.GeoPtProperty: _always(Property.GEORSS_POINT, POINT),
        model.IntegerProperty: _always(_NO_MEANING, INTEGER),
        model.KeyProperty: _always(_NO_MEANING, REFERENCE),
    }.items()
}


def layouts_of(prop: Any) -> frozenset[bytes]:
    """Return the layouts that ndb reads and writes back unchanged.

    Args:
        prop: a property, of a model class or not.
    """
    kind = type(prop)
    # Structured properties have none.
    functions = getattr(kind, "_db_get_value", None), getattr(kind, "_db_set_value", None)
    layouts = _LAYOUTS.get(functions)
    if (
        layouts is None
        or not _WRITING.are_upstream(prop)
        or any(name.startswith("_db_") for name in vars(prop))
    ):
        return frozenset()
    field = PROPERTY_TAG if prop._indexed else RAW_PROPERTY_TAG
    flags = MULTIPLE if prop._repeated else 0
    found = {
        layout(field, meaning, flags | (COMPRESSED if compressed else 0), contents)
        for meaning, compressed, contents in layouts(prop)
    }
    if not prop._repeated:
        found.add(layout(field, _NO_MEANING, flags, NULL))
    return frozenset(found)


def _layouts_of_orphans() -> dict[bytes, frozenset[bytes]]:
    """Return the layouts of undeclared properties, by field and flag of the first one."""
    found = {}
    for is_indexed in (True, False):
        for is_repeated in (True, False):
            prop = model.GenericProperty("any", indexed=is_indexed, repeated=is_repeated)
            field = PROPERTY_TAG if is_indexed else RAW_PROPERTY_TAG
            found[bytes((field, MULTIPLE if is_repeated else 0))] = layouts_of(prop)
    return found


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

    __slots__ = (
        "_all",
        "_defined",
        "_is_own",
        "_kept",
        "_layouts",
        "_orphans",
        "has_required",
        "plain",
        "preparing",
    )

    def __init__(self, model_class: Any, mapping: Any) -> None:
        # Another thread can add a property to the class.
        defined = dict(model_class._properties)
        self._defined = frozenset(defined)
        self._all = self._defined.union(mapping.properties or ())
        self._is_own = all(
            is_upstream(type(prop)._serialize, *_SERIALIZING) for prop in defined.values()
        )
        self.has_required = not _CHECKING.are_upstream(model_class) or any(
            prop._required or type(prop)._is_initialized is not _is_initialized
            for prop in defined.values()
        )
        self.preparing = sorted(name for name, prop in defined.items() if _prepares(prop))
        self.plain = {name: name.encode() for name, prop in defined.items() if _is_plain(prop)}
        self._layouts = {
            stored.decode(): (
                layouts_of(mapping.declared[stored]),
                mapping.declared[stored]._repeated,
            )
            for stored, names in mapping.names.items()
            if stored in mapping.declared and names == (stored.decode(),)
        }
        self._orphans = _layouts_of_orphans() if mapping.properties is not None else {}
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
        layouts = index.layouts() if self._is_own else b""
        kept = self._kept.get(layouts)
        if kept is None:
            names = sorted(self._find_kept(index, layouts)) if self._is_own else []
            by_stored = {name.encode(): name for name in names}
            kept = Kept(names, by_stored, sorted(self._all.difference(names)))
            self._kept.keep(layouts, kept, len(layouts) + 200 * len(self._all))
        return kept

    def _find_kept(self, index: Any, layouts: bytes) -> Iterator[str]:
        by_name: dict[str, list[bytes]] = {}
        for position, name in enumerate(index.entry_names()):
            by_name.setdefault(name, []).append(layouts[SIZE * position : SIZE * (position + 1)])
        for name, found in by_name.items():
            allowed, is_repeated = self._layouts.get(name, _NONE)
            if name in self._all and name not in self._defined:
                field, _, flags, _ = found[0]
                is_repeated = bool(flags & MULTIPLE)
                allowed = self._orphans[bytes((field, flags & MULTIPLE))]
            if (is_repeated or len(found) == 1) and allowed.issuperset(found):
                yield name


_NONE: tuple[frozenset[bytes], bool] = frozenset(), False


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
    return (
        type(prop) in _PLAIN_TYPES
        and bool(layouts_of(prop))
        and not prop._repeated
        and all(is_upstream(each, model) for each in prop._find_methods("_to_base_type"))
    )


def _prepares(prop: Any) -> bool:
    method = "_prepare_for_put"
    return getattr(type(prop), method) is not _nothing_to_prepare or method in vars(prop)


def writing_of(entity: Any) -> Writing | None:
    """Return how to write a model; None, if its properties are not those it was made with."""
    values, properties = entity._values, entity._properties
    mapping = values._mapping
    if (
        entity._projection
        or not (properties is mapping.known or properties is values._orphans)
        or (mapping.properties is not None and properties.keys() != mapping.properties.keys())
    ):
        return None
    if mapping.writing is None:
        mapping.writing = Writing(values._model_class, mapping)
    writing: Writing = mapping.writing
    return writing
