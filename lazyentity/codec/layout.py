"""Which properties an entity has, learned once for all entities that have the same ones.

Entities of one kind repeat the same names in the same order. Their :class:`Layout` is shared, and with
it the strings of the names and the template from which CPython clones a whole key table at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from lazyentity.codec import messages, shadow
from lazyentity.undecoded import UNDECODED, UndecodedType


class Layout:
    """The names of an entity's properties, in wire order.

    Attributes:
        template: every name, mapped to ``UNDECODED``. Never changed: storage is cloned from it.
        ordinals: every name, mapped to the position of its entry among the entity's entries. Of
            several entries with one name the last counts, as protobuf defines for maps.
        entry_count: how many entries there are.
    """

    __slots__ = ("entry_count", "ordinals", "template")

    def __init__(self, names: list[str]) -> None:
        self.entry_count = len(names)
        self.ordinals = {name: ordinal for ordinal, name in enumerate(names)}
        self.template: dict[str, UndecodedType] = dict.fromkeys(self.ordinals, UNDECODED)


EMPTY = Layout([])


class LayoutCache:
    """Layouts by signature, bounded: a kind with ever new property names must not grow it for ever.

    Args:
        max_names: how many property names all cached layouts together may have. The oldest layouts
            make room for new ones; one that has more names than this alone is not kept.
        layout_type: makes a layout of the list that is given to :meth:`add`.
    """

    def __init__(self, max_names: int, layout_type: Callable[[list[Any]], Any]) -> None:
        self._max_names = max_names
        self._layout_type = layout_type
        self._names = 0
        self._layouts: dict[bytes, Any] = {}
        self._lock = threading.Lock()
        self.get = self._layouts.get

    def __len__(self) -> int:
        return len(self._layouts)

    def add(self, signature: bytes, names: list[Any]) -> Any:
        """Keep the layout of ``names`` under ``signature``; the first one added stays."""
        layout = self._layout_type(names)
        size = max(1, len(names))
        if size > self._max_names:
            return layout
        with self._lock:
            if signature in self._layouts:
                return self._layouts[signature]
            while self._names + size > self._max_names:
                oldest = next(iter(self._layouts))
                self._names -= max(1, len(self._layouts.pop(oldest).ordinals))
            self._layouts[signature] = layout
            self._names += size
        return layout


LAYOUTS = LayoutCache(max_names=100_000, layout_type=Layout)


def indexed(raw: bytes) -> tuple[bytes, Layout]:
    """Return the serialised entity ``raw`` and its layout.

    An entity that is legally but unusually encoded is returned in the usual encoding.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` or one of its entries is malformed or
            truncated, or if a name is not UTF-8. Values are looked into only if the encoding is unusual.
    """
    layout = _canonical_layout(raw)
    if layout is not None:
        return raw, layout
    for encoded in canonical_encodings(raw):
        layout = _canonical_layout(encoded)
        if layout is not None:
            return encoded, layout
    raise AssertionError("protobuf encodes a map as entries of one name and one value")


def _canonical_layout(raw: bytes) -> Layout | None:
    """Return the layout of ``raw``; None unless each entry is one name and then one value."""
    entries = shadow.EntityEntries.FromString(raw)
    # Protobuf keeps the order of entries and writes the fields of each in the order of their numbers,
    # once. What comes out as it went in was encoded like that.
    if entries.SerializeToString() != raw:
        return None
    merged = shadow.EntityNames.FromString(raw).properties
    merged.ClearField("value")
    # The names, one after the other, and whatever else than a value was in an entry: upb takes an entry
    # with an unknown field for an unknown field as a whole.
    signature: bytes = merged.SerializeToString()
    layout: Layout | None = LAYOUTS.get(signature)
    if layout is None:
        merged.DiscardUnknownFields()
        if merged.SerializeToString() != signature:
            return None
        try:
            names = [name.decode() for name in merged.key]
        except UnicodeDecodeError:
            return None
        layout = LAYOUTS.add(signature, names)
    return layout if layout.entry_count == len(entries.properties) else None


def canonical_encodings(raw: bytes) -> Iterator[bytes]:
    """Encode the serialised entity ``raw`` as protobuf does.

    The second encoding is without the fields that are unknown to the client, among which may be
    entries that an index cannot tell from properties.

    Raises:
        google.protobuf.message.DecodeError: if anything in ``raw`` is malformed.
    """
    message = messages.Entity.FromString(raw)
    yield message.SerializeToString()
    message.DiscardUnknownFields()
    yield message.SerializeToString()
