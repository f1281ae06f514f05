"""The pure backend: a mapping over a serialised entity that protobuf's own parser splits.

:mod:`~lazyentity.codec.split` tells which names there are; storage is cloned from the layout's
template. A property is converted when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity.codec import entries, errors, messages
from lazyentity.codec.layout import EMPTY, Layout
from lazyentity.codec.lazydict import LazyDict
from lazyentity.codec.split import (
    ParsedOneByOne,
    Split,
    empty_split,
    serialised_values,
    split_again,
    split_new,
)
from lazyentity.codec.values import SCALARS, meaning_of
from lazyentity.undecoded import UNDECODED

_Self = TypeVar("_Self", bound="LazyMapping")

# Entity's own, which the __dict__ of lazy entities shadows.
_instance_dict = Entity.__dict__["__dict__"].__get__
_new = dict.__new__
_fill = dict.update
_stored = dict.__getitem__
_store = dict.__setitem__
# Of the class, for the attribute of a message takes longer to find than to call.
_which = messages.Value.WhichOneof


class LazyMapping(LazyDict):
    """A dict of an entity's properties that decodes each when it is first read.

    States of a property, and all transitions between them:

    ========== ============================================ =======================================
    state      storage                                      leaves it by
    ========== ============================================ =======================================
    UNDECODED  the sentinel; its bytes are in ``_raw``      read: DECODED; else as DECODED
    DECODED    the value, the same object ever after        set: ASSIGNED; del: DELETED
    ASSIGNED   the caller's object                          set: ASSIGNED; del: DELETED
    DELETED    no such key                                  set: ASSIGNED
    ========== ============================================ =======================================

    A decode that fails changes nothing and raises again at the next read.

    These never decode: ``len``, ``in``, iteration, ``reversed``, ``keys()``, ``e[name] = value``,
    ``del``, ``update``, ``|=``, ``clear``. These decode one property: ``e[name]``, ``get``,
    ``pop``, ``popitem``, ``setdefault``. All else decodes what is left, in one pass, and then does
    what dict does.
    """

    __slots__ = ("_layout", "_originals", "_raw", "_split")

    _INSTANCE_DICT_ON_DEMAND = False
    """Whether a subclass of ``Entity`` has to ask for its instance dictionary before it uses it."""

    _raw: bytes
    _layout: Layout
    _split: Split
    _originals: dict[Any, Any]
    """The values that were decoded, whatever the caller put in their place since; the key, under
    its type."""

    def __new__(cls: type[_Self], *args: Any, **kwargs: Any) -> _Self:
        mapping = super().__new__(cls, *args, **kwargs)
        mapping._raw = b""
        mapping._layout = EMPTY
        mapping._split = empty_split()
        mapping._originals = {}
        return mapping

    @classmethod
    def _from_raw(cls: type[_Self], raw: bytes) -> _Self:
        """Make a mapping of the serialised entity ``raw``, without running ``__init__``."""
        mapping = _new(cls)
        try:
            mapping._raw, layout, mapping._split = split_new(raw)
        except DecodeError as error:
            raise errors.undecodable_entity(error, raw) from error
        mapping._layout = layout
        mapping._originals = {}
        if cls is not LazyMapping:
            # While nobody else has the mapping. CPython before 3.12 may collect garbage, and so run
            # other threads, between looking whether there is an instance dictionary and putting its
            # own in place: of two threads that come first, one would write into one that is lost.
            _instance_dict(mapping)
        # CPython clones the key table as a whole when an empty dict is updated from a dict that
        # never had a key deleted.
        _fill(mapping, layout.template)
        return mapping

    def _instance_dict(self) -> dict[str, Any]:
        """Return the instance dictionary as it is; only for subclasses of ``Entity``, too.

        It lacks what was never read from the bytes.
        """
        return _instance_dict(self)  # type: ignore[no-any-return]  # a descriptor of Entity's

    def _take_all_parsed(self) -> Any:
        """Return the messages of all values, by name; to be given back, see :class:`Split`."""
        try:
            parsed = self._split.pop()
        except IndexError:
            parsed = split_again(self._split, self._raw, self._layout.ordinals)
        return parsed.whole() if isinstance(parsed, ParsedOneByOne) else parsed

    def _give_back(self, parsed: Any) -> None:
        split = self._split
        if split.kept:
            split.append(parsed)

    def _decode_all(self) -> None:
        """Decode every property that is left; none, if one of them fails.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of one are malformed.
            ValueError: as the client raises it, if it could not have converted one.
        """
        undecoded = self._undecoded()
        if not undecoded:
            return
        decoded = {}
        raw, make_entity = self._raw, type(self)._from_raw
        parsed = self._take_all_parsed()
        for name in undecoded:
            message = parsed[name]
            value_type = _which(message, "value_type")
            if value_type in SCALARS:
                decoded[name] = getattr(message, value_type)
            else:
                decoded[name] = entries.convert(raw, name, message, make_entity)
        del message
        self._give_back(parsed)
        keep = self._originals.setdefault
        for name, value in decoded.items():
            _store(self, name, keep(name, value))

    def _read_deleted(self, name: str) -> Any:
        parsed = self._take_all_parsed()
        value = entries.convert(self._raw, name, parsed[name], type(self)._from_raw)
        self._give_back(parsed)
        return self._originals.setdefault(name, value)

    def _decoded(self) -> dict[str, Any]:
        """Return the properties that are DECODED or ASSIGNED, with their values."""
        return {name: value for name, value in dict.items(self) if value is not UNDECODED}

    def _serialised_values(self, names: Iterable[str]) -> list[bytes]:
        """Return the ``google.datastore.v1.Value`` of each of ``names``, as it came."""
        return serialised_values(self._raw, self._layout.ordinals, names)

    # What the wire says of the entity, whatever the caller changed since.

    def _wire_members(self, names: Iterable[str]) -> bytes:
        """Return which member of the oneof each of ``names`` has: a byte for each, its number.

        Where a value has none, or its bytes are malformed, that is 0.
        """
        return bytes(map(entries.member_number, self._serialised_values(names)))

    def _wire_key(self) -> Key | None:
        """Decode the key, the first time; None if there is none.

        Raises:
            google.protobuf.message.DecodeError: if its bytes are malformed.
            ValueError: as the client raises it, if it could not have converted the key.
        """
        try:
            key: Key | None = self._originals[Key]
        except KeyError:
            key = self._originals.setdefault(Key, entries.key(self._raw))
        return key

    def _wire_excluded(self, names: Iterable[str] | None = None) -> set[str]:
        """Return the names that the client would list in ``exclude_from_indexes``.

        Args:
            names: properties of the serialised entity, which alone are looked at; None for all.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of a property are malformed.
            ValueError: as the client raises it, if the elements of an array disagree.
        """
        raw = self._raw
        parsed = self._take_all_parsed()
        if names is None:
            names = self._layout.ordinals
        excluded = {name for name in names if entries.excluded(raw, name, parsed[name])}
        self._give_back(parsed)
        return excluded

    def _wire_meanings(self, names: Iterable[str] | None = None) -> dict[str, tuple[Any, Any]]:
        """Return ``(meaning, value)`` by name for the properties that have a meaning.

        These are decoded, for the client compares the value by identity when it writes.

        Args:
            names: properties of the serialised entity, which alone are looked at; None for all.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of a property are malformed.
            ValueError: as the client raises it, if it could not have converted one of the values.
        """
        meanings = {}
        raw = self._raw
        parsed = self._take_all_parsed()
        for name in self._layout.ordinals if names is None else names:
            message = parsed[name]
            meaning = meaning_of(message)
            if meaning is not None:
                if name not in self._originals:
                    value = entries.convert(raw, name, message, type(self)._from_raw)
                    original = self._originals.setdefault(name, value)
                    # Else it was replaced or deleted before it was ever read.
                    if dict.get(self, name) is UNDECODED:
                        _store(self, name, original)
                meanings[name] = (meaning, self._originals[name])
            del message
        self._give_back(parsed)
        return meanings

    # dict, without the sentinel ever coming out.

    def __getitem__(self, name: str, /) -> Any:
        # The hottest function of the backend: it calls as little as it can.
        value = _stored(self, name)
        if value is not UNDECODED:
            return value
        if type(name) is not str:
            # What a dict finds by its own idea of equality, upb does not.
            name = next(known for known in self._layout.ordinals if known == name)
        split = self._split
        try:
            parsed = split.pop()
        except IndexError:
            parsed = split_again(split, self._raw, self._layout.ordinals)
        message = parsed[name]
        members = self._layout.members
        # A member of a oneof that has another value than its default is the one that is set. Which
        # one that is, is mostly the same as in the entity before.
        member = members.get(name, "boolean_value")
        value = getattr(message, member)
        if not value:
            value_type = _which(message, "value_type")
            if value_type not in SCALARS:
                value = entries.convert(self._raw, name, message, type(self)._from_raw)
            elif value_type != member:
                members[name] = value_type
                value = getattr(message, value_type)
        del message
        if split.kept:
            split.append(parsed)
        # Of two threads that decoded the same property, both get the object of whoever was first.
        value = self._originals.setdefault(name, value)
        _store(self, name, value)
        return value
