"""Ways to read the properties of decoded entities.

The timed section calls a reader, which does nothing but read. `Reader.values` gives the values that
the reader read, to compare outputs outside the timed section.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from google.cloud.datastore import Entity


class Reader(Protocol):
    """Reads some properties of entities."""

    def __call__(self, entities: Sequence[Entity]) -> None:
        """Read them, as user code would."""

    def values(self, entities: Sequence[Entity]) -> Iterator[tuple[str, Any]]:
        """The name and the value of everything that a call reads."""


def _walk_by_name(value: Any) -> None:
    if isinstance(value, dict):
        for name in value:
            _walk_by_name(value[name])
    elif isinstance(value, list):
        for item in value:
            _walk_by_name(item)


def _walk_through_items(value: Any) -> None:
    if isinstance(value, dict):
        for _name, inner in value.items():  # noqa: PERF102  # items() is measured
            _walk_through_items(inner)
    elif isinstance(value, list):
        for item in value:
            _walk_through_items(item)


@dataclass(frozen=True)
class ByName:
    """``entity[name]`` for the names that ``plan`` lists for each entity.

    ``deep`` also reads everything inside embedded entities and arrays.
    """

    plan: tuple[tuple[str, ...], ...]
    deep: bool = False

    def __call__(self, entities: Sequence[Entity]) -> None:
        """Read them."""
        if self.deep:
            for entity, names in zip(entities, self.plan, strict=True):
                for name in names:
                    _walk_by_name(entity[name])
        else:
            for entity, names in zip(entities, self.plan, strict=True):
                for name in names:
                    _ = entity[name]

    def values(self, entities: Sequence[Entity]) -> Iterator[tuple[str, Any]]:
        """The name and the value of everything that a call reads."""
        for entity, names in zip(entities, self.plan, strict=True):
            for name in names:
                yield name, entity[name]


@dataclass(frozen=True)
class ThroughItems:
    """``for name, value in entity.items()``; ``deep`` does the same inside embedded entities."""

    deep: bool = False

    def __call__(self, entities: Sequence[Entity]) -> None:
        """Read them."""
        if self.deep:
            for entity in entities:
                _walk_through_items(entity)
        else:
            for entity in entities:
                for _name, _value in entity.items():
                    pass

    def values(self, entities: Sequence[Entity]) -> Iterator[tuple[str, Any]]:
        """The name and the value of everything that a call reads, sorted by name.

        Sorted, because a stock entity promises no order of properties.
        """
        for entity in entities:
            yield from sorted(entity.items(), key=lambda item: item[0])


@dataclass(frozen=True)
class Leaf:
    """One value inside embedded entities: ``entity[path[0]][path[1]]`` and so on."""

    path: tuple[str, ...]

    def _leaf(self, entity: Entity) -> Any:
        value: Any = entity
        for name in self.path:
            value = value[name]
        return value

    def __call__(self, entities: Sequence[Entity]) -> None:
        """Read them."""
        for entity in entities:
            self._leaf(entity)

    def values(self, entities: Sequence[Entity]) -> Iterator[tuple[str, Any]]:
        """The name and the value of everything that a call reads."""
        for entity in entities:
            yield self.path[-1], self._leaf(entity)
