"""Serialised entities, split into properties by protobuf's parser.

A small entity is parsed as a whole, and its values are only converted one by one. In others it pays
to look for the names alone, and to parse what is read.

A parsed entity pins an arena several times the size of its bytes, so entities do not keep theirs
for long: only the latest do. Code usually reads an entity soon after it arrived, and several of its
properties at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from google.protobuf.message import DecodeError

from lazyentity.codec import errors, messages, shadow
from lazyentity.codec.canonical import index_canonical
from lazyentity.pure.shapes import EMPTY, Layout, known_layout, new_layout

_SMALL = 1024
"""Bytes up to which parsing an entity as a whole is cheaper than looking for its names."""

_LARGE = 16 * 1024
"""Bytes from which on an entity is large."""

_parse_whole = messages.Entity.FromString
_parse_value = messages.Value.FromString


class ParsedOneByOne:
    """Messages of an entity's values by name, each parsed when it is asked for.

    To be read like the client's own map of messages, which a small entity has in its place.

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
        """Return the client's own map; this, if a value is malformed, which nobody may ask for."""
        if self._whole is None:
            try:
                self._whole = _parse_whole(self._raw).properties
            except DecodeError:
                return self
        return self._whole


class Split(list[Any]):
    """Where an entity keeps the messages of its values by name, parsed, while nobody reads them.

    Whoever reads them pops them, and appends them again afterwards, if they are to be ``kept``.
    Whoever finds nothing parses the entity anew. So no two threads look into the same messages,
    which upb does not survive: on CPython before 3.12 a garbage collection may start between its
    look-up of the object of a message and its making one, and run Python code (a finalizer, a
    callback), and so other threads. Two objects of one message leave a dangling pointer in upb's
    cache of objects.

    Attributes:
        kept: whether this split is among the latest.
        parsed_again: how often the entity was parsed anew.
    """

    __slots__ = ("kept", "parsed_again")

    kept: bool
    parsed_again: int


def empty_split() -> Split:
    """Return a split of an entity that nobody parsed yet."""
    split = Split()
    split.kept = False
    split.parsed_again = 0
    return split


def _keeper(count: int) -> Callable[[Split], None]:
    """Return a function that keeps what it is given; the oldest of ``count`` is emptied for it."""
    splits = deque(empty_split() for _ in range(count))

    def keep(split: Split) -> None:
        # Each is one step, so two threads never have the same split.
        splits.append(split)
        oldest = splits.popleft()
        oldest.kept = False
        oldest.clear()

    return keep


# As many as a core's cache holds: parsing into memory that has gone cold costs more than splitting
# an entity once again.
_keep = _keeper(32)
_keep_large = _keeper(4)


_last_layout = EMPTY


def split_new(raw: bytes) -> tuple[bytes, Layout, Split]:
    """Split a serialised entity for the first time.

    Returns:
        The entity, perhaps in another encoding; its layout; its split.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` or one of its entries is malformed or
            truncated, or if a name is not UTF-8.
    """
    global _last_layout
    size = len(raw)
    parsed = None
    if size <= _SMALL:
        # As _parse_small(), without a call for each entity.
        try:
            parsed = _parse_whole(raw).properties
        except DecodeError:
            parsed = None
    if parsed is None:
        raw, layout, entries = index_canonical(raw)
        parsed = ParsedOneByOne(raw, layout.ordinals, entries)
    else:
        names = tuple(parsed)
        layout = _last_layout
        if layout.names != names:
            layout = known_layout(names) or new_layout(names, names)
            if layout.template is not None:
                _last_layout = layout
    split = Split((parsed,))
    split.kept = True
    split.parsed_again = 0
    (_keep if size < _LARGE else _keep_large)(split)
    return raw, layout, split


def split_again(split: Split, raw: bytes, ordinals: dict[str, int]) -> Any:
    """Parse an entity whose ``split`` was found empty.

    Args:
        split: kept from now on, if it was not.
        raw: the serialised entity, as :func:`split_new` returned it.
        ordinals: of the entity's layout.

    Returns:
        The messages of its values by name, which nobody else has.
    """
    if not split.kept:
        split.kept = True
        (_keep if len(raw) < _LARGE else _keep_large)(split)
    split.parsed_again += 1
    return _parse(raw, ordinals)


def serialised_values(raw: bytes, ordinals: dict[str, int], names: Iterable[str]) -> list[bytes]:
    """Return the ``google.datastore.v1.Value`` of each of ``names``, as it came.

    Args:
        raw: the serialised entity, as :func:`split_new` returned it.
        ordinals: of the entity's layout.
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
        # What is malformed may be something that nobody reads.
        return None
