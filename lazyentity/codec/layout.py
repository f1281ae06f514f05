"""Which properties an entity has, learned once for all entities that have the same ones.

Entities of one kind repeat the same names in the same order. Their :class:`Layout` is shared, and
with it the strings of the names and the template from which CPython clones a whole key table at
once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lazyentity.undecoded import UNDECODED, UndecodedType


def undecoded_template(names: Iterable[str]) -> dict[str, UndecodedType]:
    """Return a dict of names, each mapped to ``UNDECODED``, that storage can be cloned from.

    Not by ``dict.fromkeys()``: from another dict, that gives few names the key table of many, which
    CPython does not clone.
    """
    return {name: UNDECODED for name in names}  # noqa: C420


class Layout:
    """The names of an entity's properties.

    Attributes:
        names: as they were given.
        template: every name, mapped to ``UNDECODED``. Never changed: storage is cloned from it.
        members: names, mapped to the scalar member of the oneof that was last seen set in a value
            of that name. For the pure backend.
        ordinals: every name, mapped to its position among ``names``; of a name that is there
            several times the last, as protobuf defines for the entries of maps.
    """

    __slots__ = ("members", "names", "ordinals", "template")

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.ordinals = {name: ordinal for ordinal, name in enumerate(names)}
        self.members: dict[str, str] = {}
        self.template = undecoded_template(self.ordinals)


EMPTY = Layout(())


class LayoutCache:
    """Layouts by signature, bounded: a kind with ever new property names must not grow it for ever.

    Args:
        max_names: how many property names all cached layouts together may have. The oldest layouts
            make room for new ones; one that has more names than this alone is not kept.
        layout_type: makes a layout of the sequence that is given to :meth:`add`.
    """

    def __init__(self, max_names: int, layout_type: Callable[[Any], Any]) -> None:
        self._max_names = max_names
        self._layout_type = layout_type
        self._names = 0
        self._layouts: dict[Any, Any] = {}
        self._sizes: dict[Any, int] = {}
        self._lock = threading.Lock()
        self.get = self._layouts.get

    def __len__(self) -> int:
        return len(self._layouts)

    def add(self, signature: Any, names: Sequence[Any]) -> Any:
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
                del self._layouts[oldest]
                self._names -= self._sizes.pop(oldest)
            self._layouts[signature] = layout
            self._sizes[signature] = size
            self._names += size
        return layout


LAYOUTS = LayoutCache(max_names=100_000, layout_type=Layout)
