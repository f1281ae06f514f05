"""Serialised entities, split into properties by protobuf's parser.

A small entity is parsed as a whole, and its values are only converted one by one. In others it pays
to look for the names alone, and to parse what is read.

A parsed entity pins an arena several times the size of its bytes, so entities do not keep theirs
for
long: only the latest do. Code usually reads an entity soon after it arrived, and several properties
    of
it at once.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

from google.protobuf.message import DecodeError

from lazyentity.codec import messages, shadow
from lazyentity.codec.canonical import index_canonical
from lazyentity.codec.layout import EMPTY, LAYOUTS, Layout

_SMALL = 1024
"""Bytes up to which parsing an entity as a whole is cheaper than looking for its names."""

_RECENT = 32
"""How many splits are kept at a time, of all entities."""

_parse_whole = messages.Entity.FromString
_parse_parts = shadow.EntityParts.FromString
_parse_entry = messages.PropertiesEntry.FromString


class Split:
    """One entity, split.

    Attributes:
        whole: the client's own map of messages, if the entity was parsed as a whole.
        entries: its serialised entries, in wire order, if it was not.

    Both are None when nothing has been read yet, and again once other splits took the place of this
    one.
    """

    __slots__ = ("_parses_left", "entries", "whole")

    def __init__(self, whole: Any) -> None:
        self.whole = whole
        self.entries: Any = None
        self._parses_left = 0

    def again(self, raw: bytes) -> tuple[Any, Any]:
        """Split the entity ``raw`` again and return ``whole`` and ``entries``."""
        whole = _parse_small(raw)
        entries = None
        if whole is None:
            entries = _parse_parts(raw).properties
            # Parsing an entry by itself costs about eight times its share of parsing all at once.
            self._parses_left = len(entries) // 8 + 4
        self.whole, self.entries = whole, entries
        _remember(self)
        # Not read back: another thread's entities may have taken the place of this split already.
        return whole, entries

    def parse_entry(self, entry: bytes, raw: bytes) -> Any:
        """Parse the ``Value`` of one of ``entries``; all of ``raw``, once that has become cheaper.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of the entry are malformed.
        """
        self._parses_left -= 1
        if self._parses_left == 0:
            # Some other entry may be malformed; then the rest is parsed one by one as well.
            with contextlib.suppress(DecodeError):
                self.whole = _parse_whole(raw).properties
        return _parse_entry(entry).value


_recent = [Split(None) for _ in range(_RECENT)]
_turns = itertools.count()


def _remember(split: Split) -> None:
    turn = next(_turns) % _RECENT
    oldest = _recent[turn]
    _recent[turn] = split
    oldest.whole = oldest.entries = None


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
    whole = _parse_small(raw)
    split = Split(whole)
    if whole is None:
        raw, layout = index_canonical(raw)
        return raw, layout, split
    names = tuple(whole)
    layout = _last_layout
    if layout.names != names:
        known = LAYOUTS.get(names)
        layout = _last_layout = LAYOUTS.add(names, names) if known is None else known
    _remember(split)
    return raw, layout, split


def _parse_small(raw: bytes) -> Any:
    if len(raw) > _SMALL:
        return None
    try:
        return _parse_whole(raw).properties
    except DecodeError:
        # What is malformed may be something that nobody reads.
        return None
