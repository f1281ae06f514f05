"""Checks of arguments, and the names of their types in error messages."""

from __future__ import annotations

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.codec.describing import describe_type as describe_type


def require_entity(function: str, given: object) -> None:
    """Check that the argument of a public function is an entity.

    Raises:
        TypeError: if it is not.
    """
    if not isinstance(given, Entity):
        raise TypeError(
            f"{function}() takes a google.cloud.datastore.Entity or a lazyentity.LazyEntity, "
            f"not {describe_type(given)}"
        )


def require_several(function: str, given: object, items: str = "entities") -> None:
    """Check that the argument of a public function is not a single entity, and no text.

    An empty entity or text could be iterated, and would pass for an iterable of no entities.

    Args:
        function: its name.
        given: its argument.
        items: the name of the expected items, in the plural.

    Raises:
        TypeError: if it is an entity or text.
    """
    if isinstance(given, Entity):
        raise TypeError(f"{function}() takes an iterable of {items}, not one; pass [entity]")
    _require_no_text(function, given, items)


def require_keys(function: str, given: object) -> None:
    """Check that the argument of a public function is neither a single key nor an entity or text.

    Raises:
        TypeError: if it is one.
    """
    if isinstance(given, Entity):
        raise TypeError(f"{function}() takes an iterable of keys, not an entity; pass [entity.key]")
    if isinstance(given, Key):
        raise TypeError(f"{function}() takes an iterable of keys, not one; pass [key]")
    _require_no_text(function, given, "keys")


def _require_no_text(function: str, given: object, items: str) -> None:
    if isinstance(given, str | bytes | bytearray):
        raise TypeError(f"{function}() takes an iterable of {items}, not {describe_type(given)}")
