"""Which properties an entity has, learned once for all entities that have the same ones.

Entities of one kind repeat the same names in the same order. Their :class:`Layout` is shared, and
with it the strings of the names and the template from which CPython clones a whole key table at
once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from sys import getsizeof
from typing import Any

from lazyentity.codec.cache import BoundedCache
from lazyentity.codec.undecoded import UNDECODED, UndecodedType


def undecoded_template(names: Iterable[str]) -> dict[str, UndecodedType]:
    """Return a dict of names, each mapped to ``UNDECODED``, that storage can be cloned from.

    Not by ``dict.fromkeys()``: from another dict, that gives few names the key table of many, which
    CPython does not clone.
    """
    return {name: UNDECODED for name in names}  # noqa: C420


def learned_bytes(signature: Hashable, template: dict[str, Any]) -> int:
    """Return about how many bytes a layout takes, and the key that it is kept under."""
    # Names are in two dicts and a tuple. An ordinal takes 32 bytes, and there is a header or a
    # member for each name.
    names = sum(map(getsizeof, template)) + 64 * len(template)
    return getsizeof(signature) + 2 * getsizeof(template) + names


class Layout:
    """The names of an entity's properties.

    Attributes:
        names: as they were given.
        template: every name, mapped to ``UNDECODED``. Never changed: storage is cloned from it.
            None, until entities with the same names have come twice.
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
        self.template: dict[str, UndecodedType] | None = None


EMPTY = Layout(())
EMPTY.template = {}


MAX_BYTES = 4 * 1024 * 1024
"""What may be kept of the names of entities; of ndb's models, as much again."""


_LAYOUTS: BoundedCache[Hashable, Layout] = BoundedCache(MAX_BYTES)

known_layout = _LAYOUTS.get


def new_layout(signature: Hashable, names: Sequence[str]) -> Layout:
    """Make the layout of an entity; it is kept if another entity like that came before.

    Args:
        signature: under which ``known_layout`` finds it.
        names: of the properties.
    """
    layout = Layout(names)
    if _LAYOUTS.comes_again(signature):
        layout.template = undecoded_template(layout.ordinals)
        _LAYOUTS.keep(signature, layout, learned_bytes(signature, layout.template))
    return layout
