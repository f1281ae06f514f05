"""How error messages name what was given."""

from __future__ import annotations

from google.cloud.datastore.entity import Entity


def describe_type(given: object) -> str:
    """Return the qualified name of the type of ``given``, without ``builtins``."""
    kind = type(given)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def require_entity(function: str, given: object) -> None:
    """Check what a public function was given for an entity.

    Raises:
        TypeError: if it is none.
    """
    if not isinstance(given, Entity):
        raise TypeError(
            f"{function}() takes a google.cloud.datastore.Entity or a lazyentity.LazyEntity, "
            f"not {describe_type(given)}"
        )
