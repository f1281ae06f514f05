"""Checks of arguments, and the names of their types in error messages."""

from __future__ import annotations

from google.cloud.datastore.entity import Entity


def describe_type(given: object) -> str:
    """Return the qualified name of the type of ``given``, without ``builtins``."""
    kind = type(given)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


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


def require_several(function: str, given: object) -> None:
    """Check that the argument of a public function is not a single entity.

    An entity can be iterated, and one without properties would be taken for no entities at all.

    Raises:
        TypeError: if it is one.
    """
    if isinstance(given, Entity):
        raise TypeError(f"{function}() takes an iterable of entities, not one; pass [entity]")
