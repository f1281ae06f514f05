"""Which properties an entity has, learned once for all entities that have the same ones.

Entities of one kind repeat the same names in the same order. Their :class:`Layout` is shared, and with
it the strings of the names and the template from which CPython clones a whole key table at once.
"""

from __future__ import annotations

import threading

from lazyentity.codec import shadow
from lazyentity.undecoded import UNDECODED, UndecodedType


class Layout:
    """The names of an entity's properties, in wire order.

    Attributes:
        template: every name, mapped to ``UNDECODED``. Never changed: storage is cloned from it.
        ordinals: every name, mapped to the position of its entry among the entity's entries. Of
            several entries with one name the last counts, as protobuf defines for maps.
    """

    __slots__ = ("ordinals", "template")

    def __init__(self, names: list[str]) -> None:
        self.ordinals = {name: ordinal for ordinal, name in enumerate(names)}
        self.template: dict[str, UndecodedType] = dict.fromkeys(self.ordinals, UNDECODED)


EMPTY = Layout([])


class LayoutCache:
    """Layouts by signature, bounded: a kind with ever new property names must not grow it for ever.

    Args:
        max_names: how many property names all cached layouts together may have. The oldest layouts
            make room for new ones; one that has more names than this alone is not kept.
    """

    def __init__(self, max_names: int) -> None:
        self._max_names = max_names
        self._names = 0
        self._layouts: dict[bytes, Layout] = {}
        self._lock = threading.Lock()
        self.get = self._layouts.get

    def __len__(self) -> int:
        return len(self._layouts)

    def add(self, signature: bytes, names: list[str]) -> Layout:
        """Keep the layout of ``names`` under ``signature``; the first one added stays."""
        layout = Layout(names)
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


LAYOUTS = LayoutCache(max_names=100_000)


def layout_of(raw: bytes) -> Layout:
    """Return the layout of the serialised entity ``raw``.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` or one of its entries is malformed or
            truncated, or if a name is not UTF-8. Values are not looked into.
    """
    names = shadow.EntityNames.FromString(raw)
    names.DiscardUnknownFields()
    # What is left is, entry by entry, the names as protobuf reads them: the same bytes mean the same
    # names in the same entries, whatever legal encoding they arrived in.
    signature: bytes = names.SerializeToString()
    layout = LAYOUTS.get(signature)
    if layout is None:
        layout = LAYOUTS.add(signature, [entry.key for entry in names.properties])
    return layout
