"""Which properties an entity has, learned once for all entities that have the same ones.

Entities of one kind repeat the same names in the same order. Their :class:`Layout` is shared, and
with it the strings of the names and the template from which CPython clones a whole key table at
once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lazyentity.codec.cache import NamesCache
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


LAYOUTS: NamesCache[object, Layout] = NamesCache(max_names=100_000)
