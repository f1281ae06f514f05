"""Synthetic entities: their property types, their values, their bytes, and the properties read.

Counters make everything, so that every run, on any machine, decodes the same bytes. The entities of
a response share their property names, as entities of a kind do, and differ in their values.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.cloud import datastore
from google.cloud.datastore import Entity, helpers
from google.cloud.datastore_v1.types import datastore as datastore_types, entity as entity_types

PROJECT = "bench"
KIND = "Order"

EntityMessage: Any = entity_types.Entity.pb()
"""The raw (upb) class behind the proto-plus ``Entity``."""

_LookupResponse: Any = datastore_types.LookupResponse.pb()

EAGER = "eager"
MATERIALIZED = "materialized"
READS = ("0", "1", "4", "half", "all", "items", EAGER, MATERIALIZED)
"""How much is read: by name, one property, four, the first half, all; or all by ``items()``.

Eager reads all by name too, of the stock entities that an eager client gives; materialized, of
the stock entities that ``lazyentity.materialize()`` makes of lazy ones.
"""
WHOLE = frozenset(("all", "items", EAGER, MATERIALIZED))
"""The reads of all properties."""

_EPOCH = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)

Make = Callable[[int], Any]


def _created(number: int) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(seconds=number, microseconds=number * 7 % 1_000_000)


_TEXT: tuple[str, Make] = ("text", lambda number: f"value {number}")
_MIXED: tuple[tuple[str, Make], ...] = (
    _TEXT,
    ("count", lambda number: number * 1000),
    ("amount", lambda number: number * 1.25),
    ("active", lambda number: number % 2 == 0),
    ("created", _created),
    ("digest", lambda number: b"blob%d" % number),
)


def _embedded(rotation: Sequence[tuple[str, Make]], count: int, number: int) -> datastore.Entity:
    entity = datastore.Entity()
    for position in range(count):
        name, make = rotation[position % len(rotation)]
        entity[f"{name}_{position:03d}"] = make(number + position)
    return entity


_NESTED: tuple[tuple[str, Make], ...] = (
    ("address", lambda number: _embedded(_MIXED, 5, number)),
    ("scores", lambda number: [number + step for step in range(8)]),
    ("lines", lambda number: [_embedded(_MIXED, 4, number + step) for step in range(3)]),
    _TEXT,
)


@dataclass(frozen=True)
class Mix:
    """A kind of entity: its property types, in rotation, and which of them the small reads take.

    ``four`` names the types of the four properties read; a read of a property takes the first
    type. Where ``deep`` is true, reading a property means reading everything inside it too.
    """

    name: str
    rotation: tuple[tuple[str, Make], ...]
    four: tuple[int, int, int, int]
    deep: bool = False

    def names(self, count: int) -> tuple[str, ...]:
        """The property names of an entity of ``count`` properties."""
        size = len(self.rotation)
        return tuple(f"{self.rotation[at % size][0]}_{at:03d}" for at in range(count))

    def part(self, count: int, number: int) -> datastore.Entity:
        """An entity without a key, to embed; its values depend on ``number``."""
        return _embedded(self.rotation, count, number)

    def entity(self, count: int, number: int) -> datastore.Entity:
        """Entity ``number`` (its values and its id depend on it), of ``count`` properties."""
        entity = self.part(count, number * 37)
        entity.key = datastore.Key(KIND, number + 1, project=PROJECT)
        return entity

    def entities(self, count: int, properties: int) -> list[datastore.Entity]:
        """The first ``count`` entities, of that many properties each."""
        return [self.entity(properties, number) for number in range(count)]


MIXES = {
    mix.name: mix
    for mix in (
        Mix("strings", (_TEXT,), (0, 0, 0, 0)),
        Mix("mixed", _MIXED, (0, 1, 2, 3)),
        Mix("nested", _NESTED, (0, 1, 2, 3), deep=True),
    )
}


def names_read(mix: Mix, count: int, read: str) -> tuple[str, ...]:
    """The properties that ``read`` takes of an entity of ``count`` properties.

    One and four are spread over the entity; half is its first half, which holds every type of the
    rotation alike.
    """
    names = mix.names(count)
    if read in WHOLE:
        return names
    if read == "half":
        return names[: count // 2]
    wanted = mix.four[: int(read)]
    size = len(mix.rotation)
    chosen = []
    for turn, kind in enumerate(wanted, start=1):
        target = count * turn // (len(wanted) + 1)
        # The last property of the wanted type at or before the target, if there is one.
        position = target - (target - kind) % size
        chosen.append(names[position if position >= 0 else kind % count])
    return tuple(chosen)


def applies(count: int, read: str) -> bool:
    """Whether ``read`` is its own case at ``count`` properties (and not "all" once more)."""
    return read == "0" or read in WHOLE or {"1": 1, "4": 4, "half": 1}[read] < count


def orders(count: int, properties: int) -> list[Entity]:
    """Orders with an amount, a status and properties of six types, ``properties`` in all."""
    made = MIXES["mixed"].entities(count, properties - 2)
    for number, order in enumerate(made):
        order.update({"amount": number * 0.25, "status": _STATES[number % len(_STATES)]})
    return made


_STATES = "open", "paid", "sent"


def lookup_responses(entity_pbs: Iterable[Any], entities_a_response: int) -> Iterator[bytes]:
    """Serialised ``LookupResponse`` messages that hold ``entity_pbs`` (raw messages), in order.

    Map entries are written in order of name: every entity of a kind then lists its properties in
    the same order, and the bytes are the same in every run.
    """
    rest = iter(entity_pbs)
    while batch := list(itertools.islice(rest, entities_a_response)):
        response = _LookupResponse()
        for version, entity_pb in enumerate(batch, start=1):
            response.found.add(version=version).entity.CopyFrom(entity_pb)
        yield response.SerializeToString(deterministic=True)


def response_of(mix: Mix, count: int, properties: int) -> bytes:
    """One serialised ``LookupResponse`` with the first ``count`` entities of a mix."""
    pbs = (helpers.entity_to_protobuf(entity)._pb for entity in mix.entities(count, properties))
    (response,) = lookup_responses(pbs, count)
    return response


def entities_of(response: bytes) -> list[bytes]:
    """The serialised entities inside a serialised ``LookupResponse``."""
    found = _LookupResponse.FromString(response).found
    return [result.entity.SerializeToString(deterministic=True) for result in found]


Reader = Callable[[Sequence[Any]], None]
"""Reads some properties of entities, as user code would."""


def _walk(value: Any) -> None:
    if isinstance(value, dict):
        for name in value:
            _walk(value[name])
    elif isinstance(value, list):
        for item in value:
            _walk(item)


def _walk_items(value: Any) -> None:
    if isinstance(value, dict):
        for _name, inner in value.items():  # noqa: PERF102  # items() is measured
            _walk_items(inner)
    elif isinstance(value, list):
        for item in value:
            _walk_items(item)


def reader(names: Sequence[Sequence[str]] | None, deep: bool) -> Reader:
    """Return a reader of ``entity[name]``, for the ``names`` of each entity; None: of ``items()``.

    ``deep`` also reads everything inside embedded entities and arrays.
    """

    def by_name(entities: Sequence[Any]) -> None:
        for entity, wanted in zip(entities, names or (), strict=True):
            for name in wanted:
                _ = entity[name]

    def by_name_deep(entities: Sequence[Any]) -> None:
        for entity, wanted in zip(entities, names or (), strict=True):
            for name in wanted:
                _walk(entity[name])

    def by_items(entities: Sequence[Any]) -> None:
        for entity in entities:
            for _name, _value in entity.items():
                pass

    def by_items_deep(entities: Sequence[Any]) -> None:
        for entity in entities:
            _walk_items(entity)

    if names is None:
        return by_items_deep if deep else by_items
    return by_name_deep if deep else by_name
