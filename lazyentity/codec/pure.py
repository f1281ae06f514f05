"""The pure backend: a mapping over a serialised entity that lets protobuf's parser do the splitting.

:func:`~lazyentity.codec.layout.indexed` tells which names there are; storage is cloned from the
layout's template. Properties are parsed by :mod:`~lazyentity.codec.entries` when they are read.
"""

from __future__ import annotations

import threading
from collections.abc import ItemsView, Iterator, ValuesView
from typing import Any, TypeVar

from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity.codec import entries, errors
from lazyentity.codec.layout import EMPTY, Layout, indexed
from lazyentity.codec.values import SCALARS, meaning_of
from lazyentity.undecoded import UNDECODED

_Self = TypeVar("_Self", bound="LazyMapping")

_stored = dict.__getitem__
_store = dict.__setitem__

# Held only to put a decoded value in place, never while decoding: of two threads that decoded the same
# property, the second must give back the first one's object.
_store_lock = threading.Lock()


class LazyMapping(dict[str, Any]):
    """A dict of an entity's properties that decodes each when it is first read.

    States of a property, and all transitions between them:

    ========== ============================================ =======================================
    state      storage                                      leaves it by
    ========== ============================================ =======================================
    UNDECODED  the sentinel; its bytes are in ``_raw``      read: DECODED; set: ASSIGNED; del: DELETED
    DECODED    the value, the same object ever after        set: ASSIGNED; del: DELETED
    ASSIGNED   the caller's object                          set: ASSIGNED; del: DELETED
    DELETED    no such key                                  set: ASSIGNED
    ========== ============================================ =======================================

    A decode that fails changes nothing and raises again at the next read. These never decode: ``len``,
    ``in``, iteration, ``reversed``, ``keys()``, ``e[name] = value``, ``del``, ``update``, ``|=``,
    ``clear``. These decode one property: ``e[name]``, ``get``, ``pop``, ``popitem``, ``setdefault``.
    All else decodes what is left, in one pass, and then does what dict does.
    """

    __slots__ = ("_decoded_meanings", "_layout", "_raw")

    _raw: bytes
    _layout: Layout
    _decoded_meanings: dict[str, tuple[Any, Any]] | None

    def __new__(cls: type[_Self], *args: Any, **kwargs: Any) -> _Self:
        mapping = super().__new__(cls, *args, **kwargs)
        mapping._raw = b""
        mapping._layout = EMPTY
        mapping._decoded_meanings = None
        return mapping

    @classmethod
    def _from_raw(cls: type[_Self], raw: bytes) -> _Self:
        """Make a mapping of the serialised entity ``raw``, without running ``__init__``."""
        try:
            raw, layout = indexed(raw)
        except DecodeError as error:
            raise errors.undecodable_entity(error, raw) from error
        mapping = dict.__new__(cls)
        mapping._raw = raw
        mapping._layout = layout
        mapping._decoded_meanings = None
        # CPython clones the key table as a whole when an empty dict is updated from a dict that never
        # had a key deleted.
        dict.update(mapping, layout.template)
        return mapping

    def _decode(self, name: str) -> Any:
        """Decode the undecoded property ``name`` and keep the value.

        Raises:
            google.protobuf.message.DecodeError: if its bytes are malformed.
            ValueError: as the client raises it, if it could not have converted the value.
        """
        # The hottest function of the backend: it calls as little as it can.
        raw = self._raw
        split = entries.last_split
        if split.raw is raw and split.properties is not None:
            message = split.properties[name]
        else:
            message = entries.value_message(raw, name, self._layout.ordinals[name])
        value_type = message.WhichOneof("value_type")
        if value_type in SCALARS:
            value, meaning = getattr(message, value_type), message.meaning
        else:
            value, meaning = entries.convert(raw, name, message, type(self)._from_raw)
        with _store_lock:
            current = _stored(self, name)
            if current is not UNDECODED:
                return current
            if meaning:
                self._keep_meaning(name, meaning, value)
            _store(self, name, value)
        return value

    def _keep_meaning(self, name: str, meaning: Any, value: Any) -> None:
        # The client writes a meaning back only with the very object it was read with.
        if self._decoded_meanings is None:
            self._decoded_meanings = {}
        self._decoded_meanings[name] = (meaning, value)

    def _undecoded(self) -> list[str]:
        return [name for name, value in dict.items(self) if value is UNDECODED]

    def _decode_all(self) -> None:
        """Decode every property that is left; none, if one of them fails.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of one are malformed.
            ValueError: as the client raises it, if it could not have converted one.
        """
        undecoded = self._undecoded()
        if not undecoded:
            return
        decoded = []
        raw, make_entity = self._raw, type(self)._from_raw
        for name, message in entries.value_messages(raw, undecoded, self._layout.ordinals):
            value_type = message.WhichOneof("value_type")
            if value_type in SCALARS:
                decoded.append((name, getattr(message, value_type), message.meaning))
            else:
                decoded.append((name, *entries.convert(raw, name, message, make_entity)))
        with _store_lock:
            for name, value, meaning in decoded:
                if _stored(self, name) is UNDECODED:
                    if meaning:
                        self._keep_meaning(name, meaning, value)
                    _store(self, name, value)

    # What the wire says of the entity, whatever the caller changed since.

    def _wire_key(self) -> Key | None:
        """Decode the key; None if there is none.

        Raises:
            google.protobuf.message.DecodeError: if its bytes are malformed.
            ValueError: as the client raises it, if it could not have converted the key.
        """
        return entries.key(self._raw)

    def _wire_excluded(self) -> set[str]:
        """Return the names that the client would list in ``exclude_from_indexes``.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of a property are malformed.
            ValueError: as the client raises it, if the elements of an array disagree.
        """
        ordinals = self._layout.ordinals
        return {
            name
            for name, message in entries.value_messages(self._raw, ordinals, ordinals)
            if entries.excluded(self._raw, name, message)
        }

    def _wire_meanings(self) -> dict[str, tuple[Any, Any]]:
        """Return ``(meaning, value)`` by name for the properties that have a meaning.

        These are decoded, for the client compares the value by identity when it writes.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of a property are malformed.
            ValueError: as the client raises it, if it could not have converted one of the values.
        """
        meanings = {}
        raw, ordinals = self._raw, self._layout.ordinals
        for name, message in entries.value_messages(raw, ordinals, ordinals):
            if meaning_of(message) is None:
                continue
            if dict.get(self, name) is UNDECODED:
                self._decode(name)
            if self._decoded_meanings is not None and name in self._decoded_meanings:
                meanings[name] = self._decoded_meanings[name]
            else:
                # Replaced or deleted before it was ever read: nobody holds the value that it had.
                value, meaning = entries.convert(raw, name, message, type(self)._from_raw)
                meanings[name] = (meaning, value)
        return meanings

    # dict, without the sentinel ever coming out.

    def __getitem__(self, name: str, /) -> Any:
        value = _stored(self, name)
        return value if value is not UNDECODED else self._decode(name)

    def __iter__(self) -> Any:
        # That this is overridden, if only to do the same, is what makes dict(e), {**e}, f(**e) and
        # d.update(e) use keys() and __getitem__: CPython reads the storage of a dict subclass directly
        # as long as its tp_iter is dict's own.
        return super().__iter__()

    def get(self, name: str, default: Any = None, /) -> Any:
        value = dict.get(self, name, default)
        return value if value is not UNDECODED else self._decode(name)

    def setdefault(self, name: str, default: Any = None, /) -> Any:
        value = super().setdefault(name, default)
        return value if value is not UNDECODED else self._decode(name)

    def pop(self, name: str, /, *default: Any) -> Any:
        if dict.get(self, name) is UNDECODED:
            self._decode(name)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        for last in reversed(self):
            self[last]
            break
        return super().popitem()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]  # typeshed wants dict's own view type, which this is
        self._decode_all()
        return super().items()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]  # as for items()
        self._decode_all()
        return super().values()

    def copy(self) -> dict[str, Any]:
        self._decode_all()
        return super().copy()

    def __or__(self, other: Any, /) -> Any:
        self._decode_all()
        return super().__or__(other)

    def __ror__(self, other: Any, /) -> Any:
        self._decode_all()
        return super().__ror__(other)

    def __eq__(self, other: object, /) -> bool:
        # dict compares storage with storage, and so does the reflected comparison of a plain dict
        # after NotImplemented.
        if isinstance(other, dict):
            self._decode_all()
            if isinstance(other, LazyMapping):
                other._decode_all()
        return super().__eq__(other)

    def __ne__(self, other: object, /) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # how Python spells "unhashable"

    def __repr__(self) -> str:
        self._decode_all()
        return super().__repr__()
