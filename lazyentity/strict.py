"""Strict entities: reading a property that was neither prefetched nor assigned raises."""

from __future__ import annotations

from collections.abc import ItemsView
from typing import Any, NoReturn

from lazyentity._encoder import called_by_encoder
from lazyentity.codec.describing import describe_entity, property_name
from lazyentity.codec.undecoded import UNDECODED
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

    Two things still decode: ``lazyentity.prefetch()``, and writing, which needs a property whose
    index flag was changed or, in an unpatched client, a property with a meaning.
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

    def items(self, entity: Any) -> ItemsView[str, Any]:
        """Return the items of an entity: all of them if the client's encoder is the caller."""
        return _items_to_write(entity) if called_by_encoder() else entity._all_items()  # type: ignore[no-any-return]  # the encoder only iterates


STRICT = Strict()


def _describe(entity: Any) -> str:
    return describe_entity(lambda: entity.key)


def _items_to_write(entity: Any) -> Any:
    # Decoded in a twin, because writing must not make the entity readable. Properties with a
    # meaning are the exception: the encoder compares these by identity.
    entity._meanings  # noqa: B018  # decodes
    twin = type(entity)._from_raw(entity._raw)
    # One after the other, as the encoder takes them from a stock entity, which may change.
    return (
        (name, twin[name] if value is UNDECODED else value) for name, value in dict.items(entity)
    )
