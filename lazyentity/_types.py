"""Checks of arguments, and the names of their types in error messages."""

from __future__ import annotations

from collections.abc import Iterable

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.codec.describing import describe_type as describe_type
from lazyentity.codec.describing import safe_repr


def require_entity(function: str, given: object) -> None:
    """Check that the argument of a public function is an entity.

    Raises:
        TypeError: if it is not.
    """
    if not isinstance(given, Entity):
        raise TypeError(
            f"{function}() takes a google.cloud.datastore.Entity or a lazyentity.LazyEntity, "
            f"not {describe_type(given)}{hint_for(given)}"
        )


def hint_for(given: object) -> str:
    """Return what to do with a model, or the class of one; empty for other objects."""
    kind = given if isinstance(given, type) else type(given)
    if hasattr(kind, "_get_kind"):
        return "; lazyentity.patch() makes models lazy, and their attributes are read as ever"
    return ""


def require_names(function: str, names: Iterable[object]) -> None:
    """Check that names of properties, given one by one, are strings.

    Raises:
        TypeError: if one is not.
    """
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"{function}() takes names as single arguments, not {safe_repr(name)}; unpack a "
                "list: *names"
            )


def require_several(function: str, given: object, items: str = "entities") -> None:
    """Check that the argument of a public function is an iterable, no single entity and no text.

    An empty entity or text could be iterated, and would pass for an iterable of no entities.

    Args:
        function: its name.
        given: its argument.
        items: the name of the expected items, in the plural.

    Raises:
        TypeError: if it is an entity or text, or cannot be iterated.
    """
    if isinstance(given, Entity):
        raise TypeError(f"{function}() takes an iterable of {items}, not one; pass [entity]")
    _require_no_text(function, given, items)
    # Not by iter(), which starts the iterators of some clients.
    if not isinstance(given, Iterable) and not hasattr(type(given), "__getitem__"):
        hint = "; pass query.fetch()" if hasattr(given, "fetch") else hint_for(given)
        raise TypeError(
            f"{function}() takes an iterable of {items}, not {describe_type(given)}{hint}"
        )


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
