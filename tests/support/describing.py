"""Entities as plain JSON values: comparable between processes and without lazyentity.

Imports nothing outside the standard library, so that it can be used before the client is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def describe(value: Any) -> Any:
    """Return the types and values of an entity, or of anything that a property can hold.

    Two descriptions are equal if nothing but the class of the entities tells the two values apart.
    The order of properties, which the stock client leaves to chance, does not count.
    """
    if hasattr(value, "exclude_from_indexes"):
        return [
            "an Entity",
            describe(value.key),
            sorted([name, describe(value[name])] for name in value),
            sorted(value.exclude_from_indexes),
            sorted(
                [name, repr(meaning), original is value.get(name)]
                for name, (meaning, original) in value._meanings.items()
            ),
        ]
    if isinstance(value, list | tuple):
        return [type(value).__qualname__, [describe(item) for item in value]]
    if hasattr(value, "flat_path"):
        return ["a Key", *map(repr, (*value.flat_path, value.project, value.namespace))]
    if hasattr(value, "latitude"):
        return ["a GeoPoint", repr(value.latitude), repr(value.longitude)]
    return [type(value).__qualname__, repr(value), getattr(value, "nanosecond", None)]


def _entities(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _entities(item)
    elif hasattr(value, "exclude_from_indexes"):
        yield value
        yield from _entities(list(value.values()))


def entity_types(value: Any) -> set[str]:
    """Return the names of the classes of all entities in ``value``, however deep inside."""
    return {type(entity).__name__ for entity in _entities(value)}
