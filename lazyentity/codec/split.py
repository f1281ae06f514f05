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
from collections.abc import Callable
from typing import Any

from google.protobuf.message import DecodeError

from lazyentity.codec import messages, shadow
from lazyentity.codec.canonical import index_canonical
from lazyentity.codec.layout import EMPTY, LAYOUTS, Layout

_SMALL = 1024
"""Bytes up to which parsing an entity as a whole is cheaper than looking for its names."""

_LARGE = 16 * 1024
"""Bytes from which on an entity is large."""

_parse_whole = messages.Entity.FromString
_parse_value = messages.Value.FromString


class Split:
    """One entity, split.

    Attributes:
        whole: the client's own map of messages, if the entity was parsed as a whole.
        entries: the shadow's messages of its entries, by ordinal, if it was not.

    Both are None once other splits took the place of this one.
    """

    __slots__ = ("_parses_left", "entries", "whole")

    def __init__(self, whole: Any, entries: Any = None, parses: int = 0) -> None:
        self.whole = whole
        self.entries = entries
        self._parses_left = parses

    def again(self, raw: bytes) -> tuple[Any, Any]:
        """Split the entity ``raw`` again and return ``whole`` and ``entries``."""
        whole = _parse_small(raw) if len(raw) <= _SMALL else None
        entries = shadow.EntityEntries.FromString(raw).properties if whole is None else None
        self.whole, self.entries = whole, entries
        (_keep if len(raw) < _LARGE else _keep_large)(self)
        # Not read back: another thread's entities may have taken the place of this split already.
        return whole, entries

    def parse(self, value: bytes, raw: bytes) -> Any:
        """Parse the ``Value`` of one of ``entries``; all of ``raw``, once that has become cheaper.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of the value are malformed.
        """
        self._parses_left -= 1
        if self._parses_left == 0:
            # Some other value may be malformed; then the rest is parsed one by one as well.
            with contextlib.suppress(DecodeError):
                self.whole = _parse_whole(raw).properties
        return _parse_value(value)


def _keeper(count: int) -> Callable[[Split], None]:
    """Return a function that keeps what it is given; the oldest of ``count`` is emptied for it."""
    splits = [Split(None)] * count
    turns = itertools.cycle(range(count))

    def keep(split: Split) -> None:
        # Two threads never have the same turn: next() of a cycle is one step.
        turn = next(turns)
        oldest = splits[turn]
        splits[turn] = split
        oldest.whole = oldest.entries = None

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
    whole = _parse_small(raw) if len(raw) <= _SMALL else None
    if whole is None:
        raw, layout, entries = index_canonical(raw)
        # Parsing a value by itself costs about eight times its share of parsing all at once.
        split = Split(None, entries, len(layout.names) // 8 + 4)
    else:
        names = tuple(whole)
        layout = _last_layout
        if layout.names != names:
            layout = _last_layout = LAYOUTS.get(names) or LAYOUTS.add(names, names)
        split = Split(whole)
    (_keep if len(raw) < _LARGE else _keep_large)(split)
    return raw, layout, split


def _parse_small(raw: bytes) -> Any:
    try:
        return _parse_whole(raw).properties
    except DecodeError:
        # What is malformed may be something that nobody reads.
        return None
