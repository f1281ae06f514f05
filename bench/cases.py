"""The cases of the decode benchmark: which entities, and which of their properties are read.

Everything is made from counters, so that every run, on any machine, decodes the same bytes. The
entities of a response share their property names, as entities of one kind do, and differ in their
values.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from google.cloud import datastore
from google.cloud.datastore import helpers

from lazyentity.bench import document, reading
from lazyentity.bench.wire import entities_of, lookup_responses

PROJECT = "bench"
KIND = "Order"
ENTITIES_A_RESPONSE = 20

COUNTS = (1, 5, 10, 20, 50, 100, 200, 500, 1000)
EAGER = "eager"
READS = ("0", "1", "4", "half", "all", "items", EAGER)
"""How much is read: by name, one property, four, the first half, all; or all by ``items()``.

Eager reads all by name too, of the stock entities that ``lazyentity.eager()`` asks for.
"""

_EPOCH = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)

Make = Callable[[int], Any]


def _text(number: int) -> str:
    return f"value {number}"


def _amount(number: int) -> float:
    return number * 1.25


def _active(number: int) -> bool:
    return number % 2 == 0


def _created(number: int) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(seconds=number, microseconds=number * 7 % 1_000_000)


_MIXED: tuple[tuple[str, Make], ...] = (
    ("text", _text),
    ("count", lambda number: number * 1000),
    ("amount", _amount),
    ("active", _active),
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
    ("text", _text),
)


@dataclass(frozen=True)
class Mix:
    """A kind of entity: its property types, in rotation, and which of them the small reads take.

    ``four`` names the types of the four properties read; the first of them is the one read. Where
    ``deep`` is true, reading a property means reading everything inside it too.
    """

    name: str
    rotation: tuple[tuple[str, Make], ...]
    four: tuple[int, int, int, int]
    deep: bool = False

    def names(self, count: int) -> tuple[str, ...]:
        """The property names of an entity of ``count`` properties."""
        size = len(self.rotation)
        return tuple(f"{self.rotation[at % size][0]}_{at:03d}" for at in range(count))

    def entity(self, count: int, number: int) -> datastore.Entity:
        """Entity ``number`` (its values and its id depend on it), of ``count`` properties."""
        entity = _embedded(self.rotation, count, number * 37)
        entity.key = datastore.Key(KIND, number + 1, project=PROJECT)
        return entity


MIXES = {
    mix.name: mix
    for mix in (
        Mix("strings", (("text", _text),), (0, 0, 0, 0)),
        Mix("mixed", _MIXED, (0, 1, 2, 3)),
        Mix("nested", _NESTED, (0, 1, 2, 3), deep=True),
    )
}

EMBEDDED = "embedded"
"""The special case: ten embedded entities of twenty mixed properties, one leaf read."""
_EMBEDDED_COUNT, _EMBEDDED_SIZE = 10, 20

DOCUMENT = "document"
"""The special case: one property of about 500 KB, a dict of dicts and lists, all of it read."""


@dataclass(frozen=True)
class Case:
    """One line of the decode benchmark.

    ``responses`` are serialised ``LookupResponse`` messages with ``entities`` entities together,
    and ``read`` says what ``reader`` reads of them: one of `READS`, or ``"leaf"``.
    """

    mix: str
    properties: int
    read: str
    responses: tuple[bytes, ...]
    entities: int
    reader: reading.Reader

    @property
    def wire_bytes(self) -> int:
        """The mean size of a serialised entity."""
        sizes = [len(raw) for response in self.responses for raw in entities_of(response)]
        return round(sum(sizes) / self.entities)


def names_read(mix: Mix, count: int, read: str) -> tuple[str, ...]:
    """The properties that ``read`` takes of an entity of ``count`` properties.

    One and four are spread over the entity; half is its first half, which holds every type of the
    rotation alike.
    """
    names = mix.names(count)
    if read in ("all", "items", EAGER):
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
    """Whether ``read`` is a case of its own at ``count`` properties (and not "all" once more)."""
    return read in ("0", "all", "items", EAGER) or {"1": 1, "4": 4, "half": 1}[read] < count


def entity_pb(mix: Mix, count: int, number: int) -> Any:
    """Entity ``number`` of ``mix`` as a raw (upb) message."""
    return helpers.entity_to_protobuf(mix.entity(count, number))._pb


@functools.lru_cache(maxsize=2)
def _responses(mix: str, count: int, entities: int, entities_a_response: int) -> tuple[bytes, ...]:
    pbs = (entity_pb(MIXES[mix], count, number) for number in range(entities))
    return tuple(lookup_responses(pbs, entities_a_response))


def case(
    mix: str,
    count: int,
    read: str,
    entities: int = ENTITIES_A_RESPONSE,
    entities_a_response: int = ENTITIES_A_RESPONSE,
) -> Case:
    """The case of ``read`` from entities of ``count`` properties of ``mix``.

    Raises:
        KeyError: there is no such mix.
    """
    chosen = MIXES[mix]
    reader: reading.Reader
    if read == "items":
        reader = reading.ThroughItems(deep=chosen.deep)
    else:
        names = names_read(chosen, count, read)
        reader = reading.ByName(plan=(names,) * entities, deep=chosen.deep)
    responses = _responses(mix, count, entities, entities_a_response)
    return Case(mix, count, read, responses, entities, reader)


def embedded_case() -> Case:
    """Ten embedded entities of twenty mixed properties each; one leaf is read."""
    parent = tuple(f"part_{position:03d}" for position in range(_EMBEDDED_COUNT))
    pbs = []
    for number in range(ENTITIES_A_RESPONSE):
        entity = datastore.Entity(key=datastore.Key(KIND, number + 1, project=PROJECT))
        for position, name in enumerate(parent):
            entity[name] = _embedded(_MIXED, _EMBEDDED_SIZE, number * 37 + position)
        pbs.append(helpers.entity_to_protobuf(entity)._pb)
    leaf = names_read(MIXES["mixed"], _EMBEDDED_SIZE, "1")
    return Case(
        mix=EMBEDDED,
        properties=_EMBEDDED_COUNT * _EMBEDDED_SIZE,
        read="leaf",
        responses=tuple(lookup_responses(pbs, ENTITIES_A_RESPONSE)),
        entities=ENTITIES_A_RESPONSE,
        reader=reading.Leaf(path=(parent[len(parent) // 2], *leaf)),
    )


def document_entity() -> datastore.Entity:
    """An entity whose only property is the dict of `document.make`."""
    entity = datastore.Entity(key=datastore.Key(KIND, 1, project=PROJECT))
    entity[DOCUMENT] = document.make()
    return entity


def document_case() -> Case:
    """The one entity of `document_entity`, everything in it read; its values are counted."""
    pb = helpers.entity_to_protobuf(document_entity())._pb
    return Case(
        mix=DOCUMENT,
        properties=document.VALUES,
        read="all",
        responses=tuple(lookup_responses([pb], 1)),
        entities=1,
        reader=reading.ByName(plan=((DOCUMENT,),), deep=True),
    )


def select(
    mixes: Sequence[str], counts: Sequence[int], reads: Sequence[str]
) -> dict[str, Callable[[], Case]]:
    """Makers of all the cases asked for, by a name for each, in order of mix, count and read.

    Makers, because the bytes of all cases together would be hundreds of megabytes. With the nested
    mix come `embedded_case` and `document_case`.
    """
    makers: dict[str, Callable[[], Case]] = {
        f"{mix}-{count}-{read}": functools.partial(case, mix, count, read)
        for mix in mixes
        for count in counts
        for read in reads
        if applies(count, read)
    }
    if "nested" in mixes:
        makers[f"{EMBEDDED}-leaf"] = embedded_case
        makers[f"{DOCUMENT}-all"] = document_case
    return makers
