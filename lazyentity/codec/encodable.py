"""The contents of an entity that is to be written, as an encoder takes them."""

from __future__ import annotations

from collections.abc import Collection
from types import MappingProxyType
from typing import Any, NamedTuple

from lazyentity.codec import errors
from lazyentity.codec.undecoded import UNDECODED

Changes = tuple[dict[Any, Any], Collection[Any], Collection[Any], int]
"""Changes made to a lazy mapping since it was received, consistent with each other:

- the properties that are DECODED or ASSIGNED, with their values;
- the received ones among them;
- the received names that were deleted;
- the number of names.
"""


class EncodableEntity(NamedTuple):
    """An entity as it is to be written.

    Attributes:
        properties: a dict of the properties to encode, or, of a class that overrides ``items()``,
            that method. For a lazy mapping, it is a consistent copy, because other threads may
            decode more meanwhile. A stock entity is its own dict: the client, too, iterates over it
            while it may change.
        owner: the entity, to be looked at again after code of the caller ran; None, if nobody can
            change it.
        key: the ``google.cloud.datastore.Key`` to write, or None.
        source: the lazy mapping whose undecoded properties are written as they came, or None.
        deleted: received properties that are neither written as they came nor encoded.
        keeps_key: whether the key of the mapping is written as it came, too.
        size: the number of names that a lazy mapping had at the moment of the copy; -1 for others.
        excluded: the names to exclude from indexes, as ``Entity.exclude_from_indexes`` has them.
        meanings: as ``Entity._meanings`` has them. For a stock entity, both are read from it.
    """

    properties: Any
    owner: Any = None
    key: Any = None
    source: Any = None
    deleted: Collection[str] = ()
    keeps_key: bool = False
    size: int = -1
    excluded: Any = ()
    meanings: Any = MappingProxyType({})


OF_DICT = EncodableEntity({})
"""The contents of the entity that the client makes of a dict, without its properties."""


def changes_of(stored: dict[Any, Any], received: dict[str, Any], mapping: Any) -> Changes:
    """Return the changes that the storage of a lazy mapping shows.

    Args:
        stored: a copy of the storage, which nobody else has.
        received: the received names, in their order.
        mapping: the lazy mapping.

    Raises:
        TypeError: if code that bypasses the methods put the sentinel in place of a value.
    """
    decoded = {name: value for name, value in stored.items() if value is not UNDECODED}
    if list(stored) == list(received):
        return decoded, decoded.keys(), (), len(stored)
    for name in stored.keys() - received.keys() - decoded.keys():
        raise errors.undecoded_property(name, mapping._raw)
    rewritten = decoded.keys() & received.keys()
    return decoded, rewritten, received.keys() - stored.keys(), len(stored)
