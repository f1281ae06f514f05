"""The pure backend: a mapping over a serialised entity that lets protobuf's parser do the splitting.

Theory of operation. :func:`layout_of` tells which names there are; storage is cloned from the layout's
template. To decode a property, the entity is split into its entries (``EntityParts``), and the one
entry is parsed with the client's own message class. Both steps are protobuf's own, so an encoding that
is legal but unusual (value before name, a split value, unknown fields) means here what it means to the
stock client.

Only the bytes are kept: a split entity would pin an arena several times their size. The last entity
that was split is remembered once for the process, for code usually reads several properties of one
entity before it goes on to the next.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import ItemsView, Iterable, Iterator, ValuesView
from typing import Any, TypeVar

from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity.codec import errors, messages, shadow
from lazyentity.codec.key import key_from_raw
from lazyentity.codec.layout import EMPTY, Layout, layout_of
from lazyentity.codec.values import SCALARS, is_excluded, meaning_of, value_from_message
from lazyentity.undecoded import UNDECODED

_Self = TypeVar("_Self", bound="LazyMapping")

_stored = dict.__getitem__
_store = dict.__setitem__

# Held only to put a decoded value in place, never while decoding: of two threads that decoded the same
# property, the second must give back the first one's object.
_store_lock = threading.Lock()


class _Split:
    """One serialised entity, split into the serialised entries of its properties.

    Attributes:
        raw: the entity.
        properties: the client's own message map, once the entity was parsed as a whole, else None.
    """

    __slots__ = ("_entries", "_reads_left", "properties", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.properties: Any = None
        self._entries = shadow.EntityParts.FromString(raw).properties
        # Parsing an entry by itself costs about eight times its share of parsing all at once.
        self._reads_left = len(self._entries) // 8 + 4

    def parse_entry(self, ordinal: int) -> Any:
        """Parse the ``Value`` of one entry.

        Raises:
            google.protobuf.message.DecodeError: if its bytes are malformed.
        """
        self._reads_left -= 1
        if self._reads_left == 0:
            # Some other entry may be malformed; then the rest is parsed one by one as well.
            with contextlib.suppress(DecodeError):
                self.properties = messages.Entity.FromString(self.raw).properties
        return messages.PropertiesEntry.FromString(self._entries[ordinal]).value


_last_split = _Split(b"")


def _split(raw: bytes) -> _Split:
    global _last_split
    split = _last_split
    if split.raw is not raw:
        split = _last_split = _Split(raw)
    return split


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
            layout = layout_of(raw)
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
        split = _last_split
        if split.raw is self._raw and split.properties is not None:
            message = split.properties[name]
        else:
            message = self._message(name)
        value_type = message.WhichOneof("value_type")
        if value_type in SCALARS:
            value, meaning = getattr(message, value_type), message.meaning
        else:
            value, meaning = self._convert(name, message, value_type)
        with _store_lock:
            current = _stored(self, name)
            if current is not UNDECODED:
                return current
            if meaning:
                self._keep_meaning(name, meaning, value)
            _store(self, name, value)
        return value

    def _message(self, name: str) -> Any:
        """Parse the ``Value`` of property ``name``, alone."""
        try:
            return _split(self._raw).parse_entry(self._layout.ordinals[name])
        except DecodeError as error:
            raise errors.undecodable_property(error, name, self._raw) from error

    def _messages(self, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """Parse the ``Value`` of each property in ``names``, in one pass."""
        try:
            properties = messages.Entity.FromString(self._raw).properties
        except DecodeError:
            # Which part it is that cannot be parsed, and whether anybody asked for that part, only
            # reading them one by one can tell.
            return ((name, self._message(name)) for name in names)
        return ((name, properties[name]) for name in names)

    def _convert(self, name: str, message: Any, value_type: str | None) -> tuple[Any, Any]:
        """Return value and meaning of property ``name``, refusing what the client would refuse."""
        try:
            value = value_from_message(message, value_type, type(self)._from_raw)
            if value_type != "array_value":
                return value, message.meaning
            is_excluded(name, message)
            return value, meaning_of(message)
        except Exception as error:
            errors.note_property(error, name, self._raw)
            raise

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
        for name, message in self._messages(undecoded):
            value_type = message.WhichOneof("value_type")
            if value_type in SCALARS:
                decoded.append((name, getattr(message, value_type), message.meaning))
            else:
                decoded.append((name, *self._convert(name, message, value_type)))
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
        try:
            return key_from_raw(self._raw)
        except DecodeError as error:
            raise errors.undecodable_entity(error, self._raw) from error

    def _wire_excluded(self) -> set[str]:
        """Return the names that the client would list in ``exclude_from_indexes``.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of a property are malformed.
            ValueError: as the client raises it, if the elements of an array disagree.
        """
        excluded = set()
        for name, message in self._messages(self._layout.ordinals):
            try:
                if is_excluded(name, message):
                    excluded.add(name)
            except ValueError as error:
                errors.note_property(error, name, self._raw)
                raise
        return excluded

    def _wire_meanings(self) -> dict[str, tuple[Any, Any]]:
        """Return ``(meaning, value)`` by name for the properties that have a meaning.

        These are decoded, for the client compares the value by identity when it writes.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of a property are malformed.
            ValueError: as the client raises it, if it could not have converted one of the values.
        """
        meanings = {}
        for name, message in self._messages(self._layout.ordinals):
            if meaning_of(message) is None:
                continue
            if dict.get(self, name) is UNDECODED:
                self._decode(name)
            if self._decoded_meanings is not None and name in self._decoded_meanings:
                meanings[name] = self._decoded_meanings[name]
            else:
                # Replaced or deleted before it was ever read: nobody holds the value that it had.
                value, meaning = self._convert(name, message, message.WhichOneof("value_type"))
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
