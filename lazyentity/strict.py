"""Strict entities: reading a property that was neither prefetched nor assigned raises."""

from __future__ import annotations

from typing import Any, NoReturn

from lazyentity.codec.describing import describe_entity, property_name
from lazyentity.entity import LazyEntityBase


def make_strict(entity: LazyEntityBase) -> None:
    """Make a lazy entity refuse to decode any more properties.

    Entities embedded in it are left as they are.
    """
    entity._policy = STRICT


class Strict:
    """The policy of an entity that refuses to decode.

    Every operation that would decode a property raises RuntimeError. Code that reads entities often
    catches KeyError, AttributeError and ValueError, and would take the property for missing or
    malformed.

    Two things still decode: ``lazyentity.prefetch()``, and writing by a patched client, which needs
    a property whose index flag was changed. An unpatched client reads an entity by ``items()`` to
    write it, which is refused.
    """

    __slots__ = ()

    def refuse(self, entity: Any, name: str) -> NoReturn:
        """Refuse to read the undecoded property ``name``."""
        raise RuntimeError(
            f"property {property_name(name)} of {_describe(entity)} was not prefetched, and the "
            "query or client is strict; name the property in prefetch=, or decode it by "
            "lazyentity.prefetch(entity, name)"
        )

    def refuse_all(self, entity: Any, operation: str) -> NoReturn:
        """Refuse an operation that reads all properties, some of which are undecoded."""
        raise RuntimeError(
            f"{operation} reads all properties of {_describe(entity)}, some of which were not "
            "prefetched, and the query or client is strict; read single properties, or decode all "
            "by lazyentity.prefetch(entity, *entity)"
        )


STRICT = Strict()


def _describe(entity: Any) -> str:
    return describe_entity(lambda: entity.key)
