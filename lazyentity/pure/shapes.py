"""Shapes: the names of an entity's properties, learned once for all entities that have the same.

Entities of a kind repeat the same names in the same order. Their :class:`Shape` is shared, and
with it the strings of the names and the template from which CPython clones a whole key table at
once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from lazyentity.codec.cache import BoundedCache
from lazyentity.codec.limits import MAX_BYTES, learned_bytes
from lazyentity.codec.undecoded import UndecodedType, undecoded_template


class Shape:
    """The names of an entity's properties.

    Attributes:
        names: as they were given.
        template: every name, mapped to ``UNDECODED``. Never changed: storage is cloned from it.
            None, until entities with the same names have come twice.
        case: the scalar oneof case that was last put into ``cases``; before that, the boolean one.
        cases: names, mapped to the scalar oneof case that was last seen in a value of that name;
            without names for which ``case`` was right. For the pure backend.
        ordinals: every name, mapped to its position among ``names``. A repeated name has its last
            position, as protobuf defines for the entries of maps.
    """

    __slots__ = ("case", "cases", "names", "ordinals", "template")

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.ordinals = {name: ordinal for ordinal, name in enumerate(names)}
        self.cases: dict[str, str] = {}
        self.case = "boolean_value"
        self.template: dict[str, UndecodedType] | None = None


EMPTY = Shape(())
EMPTY.template = {}


SHAPES: BoundedCache[Hashable, Shape] = BoundedCache(MAX_BYTES)

known_shape = SHAPES.get
"""Return the shape of a signature; None, if it is not kept, and then :func:`new_shape` makes one.

The callers write this out, where the native backend has a function ``shape_of``: a function would
take one more call for each entity, and the names even where the shape is known.
"""


def new_shape(signature: Hashable, names: Sequence[str]) -> Shape:
    """Make the shape of an entity; it is kept if another entity like that came before.

    Args:
        signature: under which :func:`known_shape` finds it.
        names: of the properties.
    """
    shape = Shape(names)
    if SHAPES.comes_again(signature):
        shape.template = undecoded_template(shape.ordinals)
        SHAPES.keep(signature, shape, learned_bytes(signature, shape.template))
    return shape
