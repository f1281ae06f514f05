"""The index of a serialised entity: its shape, and its values as messages of protobuf's parser.

A small entity is parsed as a whole, and its values are converted one by one. For a larger entity it
is faster to look for the names alone, and to parse a value when it is read.

A parsed entity pins an arena several times the size of its bytes, so only the latest entities keep
their messages. Code usually reads an entity soon after it arrived, and several properties at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from google.protobuf.message import DecodeError

from lazyentity.codec import errors, messages, shadow
from lazyentity.codec.canonical import canonical_encodings
from lazyentity.pure.shapes import EMPTY, Shape, known_shape, new_shape

_SMALL = 1024
"""Bytes up to which parsing an entity as a whole is cheaper than looking for its names."""

_LARGE = 16 * 1024
"""Bytes from which on an entity is large."""

_parse_whole = messages.Entity.FromString
_parse_value = messages.Value.FromString
_parse_entries = shadow.EntityEntries.FromString
_parse_names = shadow.EntityNames.FromString


class ParsedOneByOne:
    """Messages of an entity's values by name, each parsed when it is asked for.

    It is read like the client's own map of messages, which a small entity has instead.

    Args:
        raw: the serialised entity, in the canonical encoding.
        ordinals: of the names among the entries.
        entries: the shadow's messages of the entity's entries.
    """

    __slots__ = ("_entries", "_ordinals", "_parses_left", "_raw", "_whole")

    def __init__(self, raw: bytes, ordinals: dict[str, int], entries: Any) -> None:
        self._raw = raw
        self._ordinals = ordinals
        self._entries = entries
        self._whole: Any = None
        # Parsing a value by itself costs about eight times its share of parsing all at once.
        self._parses_left = len(ordinals) // 8 + 4

    def __getitem__(self, name: str) -> Any:
        """Return the ``google.datastore.v1.Value`` of a name.

        Raises:
            google.protobuf.message.DecodeError: if its bytes are malformed.
        """
        whole = self._whole
        if whole is not None:
            return whole[name]
        self._parses_left -= 1
        if self._parses_left == 0:
            return self.whole()[name]
        try:
            return _parse_value(self._entries[self._ordinals[name]].value)
        except DecodeError as error:
            raise errors.undecodable_property(error, name, self._raw) from error

    def serialised(self, name: str) -> bytes:
        """Return the value of a name as it came."""
        value: bytes = self._entries[self._ordinals[name]].value
        return value

    def whole(self) -> Any:
        """Return the client's own map; this object, if a value is malformed: it may stay unread."""
        if self._whole is None:
            try:
                self._whole = _parse_whole(self._raw).properties
            except DecodeError:
                return self
        return self._whole


class ParseSlot:
    """A slot for the parsed messages of an entity's values by name; empty while they are read.

    A reader pops them, and appends them again afterwards. If the slot is empty, the reader parses
    again. Threads must never share these messages: concurrent access crashes upb. CPython before
    3.12 may collect garbage while upb makes the object of a message, run a finalizer or a callback
    in it, and so other threads. Two objects of the same message leave a dangling pointer in upb's
    cache of objects.

    Attributes:
        is_watched: whether the entity has a policy, or the counts of a profile.
        parsed: the messages, in a list; ``NOT_KEPT``, unless this split is among the latest.
        parsed_again: how often the entity was parsed again.
    """

    __slots__ = ("is_watched", "parsed", "parsed_again")

    is_watched: bool
    parsed: list[Any]
    parsed_again: int


class _EmptyList(list[Any]):
    def append(self, _: Any, /) -> None:
        pass


NOT_KEPT = _EmptyList()
"""Drops what is appended: the messages that a reader gives back too late."""


def empty_parse_slot() -> ParseSlot:
    """Return the split of an entity that was not parsed yet."""
    split = ParseSlot()
    split.parsed = NOT_KEPT
    split.parsed_again = 0
    split.is_watched = False
    return split


def keeper(count: int) -> Callable[[ParseSlot], None]:
    """Return a function that keeps the latest ``count`` splits, and empties the oldest for each."""
    splits = deque(empty_parse_slot() for _ in range(count))

    def keep(split: ParseSlot) -> None:
        # Each operation is one step, so two threads never have the same split.
        splits.append(split)
        splits.popleft().parsed = NOT_KEPT

    return keep


# As many as a core's cache holds: parsing into memory that has gone cold costs more than splitting
# an entity once again.
_keep = keeper(32)
_keep_large = keeper(4)


_last_shape = EMPTY

_last_canonical: tuple[bytes, Shape] = (b"", EMPTY)
"""The signature and the shape of the last large entity whose shape is kept: the next large entity
is often of the same kind."""


def index_entity(raw: bytes) -> tuple[bytes, Shape, ParseSlot]:
    """Index a serialised entity.

    Returns:
        The entity, perhaps in another encoding; its shape; its split.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` or one of its entries is malformed or
            truncated, or if a name is not UTF-8.
    """
    global _last_shape
    size = len(raw)
    parsed = None
    if size <= _SMALL:
        # As _parse_small(), without a call for each entity.
        try:
            parsed = _parse_whole(raw).properties
        except DecodeError:
            parsed = None
    if parsed is None:
        raw, shape, entries = _index_names(raw)
        parsed = ParsedOneByOne(raw, shape.ordinals, entries)
    else:
        names = tuple(parsed)
        shape = _last_shape
        if shape.names != names:
            shape = known_shape(names) or new_shape(names, names)
            if shape.template is not None:
                _last_shape = shape
    split = ParseSlot()
    # Of a list that is made with its item, pop() leaves the memory for append().
    split.parsed = [parsed]
    split.parsed_again = 0
    split.is_watched = False
    (_keep if size < _LARGE else _keep_large)(split)
    return raw, shape, split


def _index_names(raw: bytes) -> tuple[bytes, Shape, Any]:
    """Index an entity by its names alone.

    Returns:
        The entity, in the canonical encoding; its shape, with the names in wire order; its entries,
        as the shadow's messages of ``key`` and ``value``.

    Raises:
        google.protobuf.message.DecodeError: as :func:`index_entity`. Values are parsed only if the
            encoding is unusual.
    """
    indexed = _index_canonical(raw)
    if indexed is not None:
        return indexed
    for encoded in canonical_encodings(raw):
        indexed = _index_canonical(encoded)
        if indexed is not None:
            return indexed
    raise AssertionError("protobuf encodes a map as entries of one name and one value")


def _index_canonical(raw: bytes) -> tuple[bytes, Shape, Any] | None:
    global _last_canonical
    try:
        split = _parse_entries(raw)
    except DecodeError:
        # The client's own message has a familiar name: let it raise.
        messages.Entity.FromString(raw)
        raise
    # Protobuf keeps the order of entries and writes the fields of each once, in the order of their
    # numbers. So bytes that it reproduces are in the canonical encoding.
    if split.SerializeToString() != raw:
        return None
    merged = _parse_names(raw).properties
    merged.ClearField("value")
    # The names, one after the other, and the unknown fields of entries: upb takes an entry with an
    # unknown field for an unknown field as a whole.
    signature: bytes = merged.SerializeToString()
    last_signature, shape = _last_canonical
    if signature != last_signature:
        known = known_shape(signature) or _new_shape(signature, merged)
        if known is None:
            return None
        shape = known
        if shape.template is not None:
            _last_canonical = (signature, shape)
    entries = split.properties
    # An entry that another one of the same name overrides has to be valid, too: protobuf checks.
    is_indexed = len(shape.ordinals) == len(shape.names) == len(entries)
    return (raw, shape, entries) if is_indexed else None


def _new_shape(signature: bytes, merged: Any) -> Shape | None:
    """Return the shape of an entity whose names, as a shadow message, are ``merged``."""
    merged.DiscardUnknownFields()
    if merged.SerializeToString() != signature:
        return None
    try:
        names = [name.decode() for name in merged.key]
    except UnicodeDecodeError:
        return None
    return new_shape(signature, names)


def split_again(split: ParseSlot, raw: bytes, ordinals: dict[str, int]) -> Any:
    """Parse an entity whose ``split`` was empty.

    Args:
        split: is kept from now on.
        raw: the serialised entity, as :func:`index_entity` returned it.
        ordinals: of the entity's shape.

    Returns:
        The messages of its values by name, which no other reader has.
    """
    if split.parsed is NOT_KEPT:
        split.parsed = []
        (_keep if len(raw) < _LARGE else _keep_large)(split)
    split.parsed_again += 1
    return _parse(raw, ordinals)


def serialised_values(raw: bytes, ordinals: dict[str, int], names: Iterable[str]) -> list[bytes]:
    """Return the ``google.datastore.v1.Value`` of each of ``names``, as it came.

    Args:
        raw: the serialised entity, as :func:`index_entity` returned it.
        ordinals: of the entity's shape.
        names: of properties of it.
    """
    parsed = _parse(raw, ordinals)
    if isinstance(parsed, ParsedOneByOne):
        return [parsed.serialised(name) for name in names]
    return [parsed[name].SerializeToString() for name in names]


def _parse(raw: bytes, ordinals: dict[str, int]) -> Any:
    parsed = _parse_small(raw) if len(raw) <= _SMALL else None
    if parsed is None:
        entries = shadow.EntityEntries.FromString(raw).properties
        parsed = ParsedOneByOne(raw, ordinals, entries)
    return parsed


def _parse_small(raw: bytes) -> Any:
    try:
        return _parse_whole(raw).properties
    except DecodeError:
        # The malformed value may stay unread.
        return None
