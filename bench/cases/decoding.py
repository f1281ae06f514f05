"""The cases of the decode benchmark: responses, and readers of their entities."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from google.cloud import datastore
from google.cloud.datastore import Entity, helpers
from google.cloud.datastore_v1.types import datastore as datastore_types
from google.cloud.datastore_v1.types import entity as entity_types

from lazyentity.bench.cases import synthetic
from lazyentity.bench.cases.synthetic import KIND, MIXES, PROJECT

EntityMessage: Any = entity_types.Entity.pb()
"""The raw (upb) class behind the proto-plus ``Entity``."""

_LookupResponse: Any = datastore_types.LookupResponse.pb()


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


def entities_of(response: bytes) -> list[bytes]:
    """The serialised entities inside a serialised ``LookupResponse``."""
    found = _LookupResponse.FromString(response).found
    return [result.entity.SerializeToString(deterministic=True) for result in found]


_GROUPS, _RECORDS = 30, 32
RECORDS = _GROUPS * _RECORDS
"""How many records a document has."""


def _line(number: int) -> dict[str, Any]:
    return {
        "sku": f"item-{number % 997:04d}",
        "quantity": number % 9 + 1,
        "price": number % 400 * 0.25,
        "gift": number % 5 == 0,
    }


def _record(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"customer {number}",
        "score": number * 0.5,
        "active": number % 2 == 0,
        "comment": None,
        "address": {
            "street": f"{number % 300} Main Street",
            "city": f"city {number % 40}",
            "zip": f"{number % 100_000:05d}",
            "location": {"latitude": number % 90 + 0.25, "longitude": number % 180 + 0.5},
        },
        "tags": [f"tag {number % 17}", f"tag {number % 19}"],
        "lines": [_line(number + step) for step in range(3)],
    }


_VALUES = 24
DOCUMENT_VALUES = RECORDS * _VALUES
"""How many values a document holds that are neither dicts nor lists."""


def values_of(records: int) -> int:
    """The number of such values in a document of ``records`` records."""
    return records * _VALUES


def make_document(records: int = RECORDS) -> dict[str, Any]:
    """The document: a dict of groups of records, about 500 KB on the wire, the same every time.

    ``records`` makes it larger or smaller.
    """
    return {
        f"group_{start // _RECORDS:02d}": {
            f"record_{number - start:02d}": _record(number)
            for number in range(start, min(start + _RECORDS, records))
        }
        for start in range(0, records, _RECORDS)
    }


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


ENTITIES_A_RESPONSE = 20

EMBEDDED = "embedded"
"""The special case: ten embedded entities of twenty mixed properties, one leaf read."""
_EMBEDDED_COUNT, _EMBEDDED_SIZE = 10, 20

DOCUMENT = "document"
"""The special case: one property of about 500 KB, a dict of dicts and lists, all of it read."""


@dataclass(frozen=True)
class Case:
    """One line of the decode benchmark.

    ``responses`` are serialised ``LookupResponse`` messages with ``entities`` entities together,
    and ``read`` names the properties that ``reader`` reads: one of `synthetic.READS`, or
    ``"leaf"``.
    """

    mix: str
    properties: int
    read: str
    responses: tuple[bytes, ...]
    entities: int
    reader: Reader

    @property
    def wire_bytes(self) -> int:
        """The mean size of a serialised entity."""
        sizes = [len(raw) for response in self.responses for raw in entities_of(response)]
        return round(sum(sizes) / self.entities)


@functools.lru_cache(maxsize=2)
def _responses(mix: str, count: int, entities: int, entities_a_response: int) -> tuple[bytes, ...]:
    pbs = (synthetic.entity_pb(MIXES[mix], count, number) for number in range(entities))
    return tuple(lookup_responses(pbs, entities_a_response))


def case(
    mix: str,
    count: int,
    read: str,
    entities: int = ENTITIES_A_RESPONSE,
    entities_a_response: int = ENTITIES_A_RESPONSE,
) -> Case:
    """The case of ``read`` from entities of ``count`` properties of ``mix``."""
    chosen = MIXES[mix]
    reader: Reader
    if read == "items":
        reader = ThroughItems(deep=chosen.deep)
    else:
        names = synthetic.names_read(chosen, count, read)
        reader = ByName(plan=(names,) * entities, deep=chosen.deep)
    responses = _responses(mix, count, entities, entities_a_response)
    return Case(mix, count, read, responses, entities, reader)


def embedded_case() -> Case:
    """Ten embedded entities of twenty mixed properties each; one leaf is read."""
    parent = tuple(f"part_{position:03d}" for position in range(_EMBEDDED_COUNT))
    mixed, pbs = MIXES["mixed"], []
    for number in range(ENTITIES_A_RESPONSE):
        entity = datastore.Entity(key=datastore.Key(KIND, number + 1, project=PROJECT))
        for position, name in enumerate(parent):
            entity[name] = mixed.part(_EMBEDDED_SIZE, number * 37 + position)
        pbs.append(helpers.entity_to_protobuf(entity)._pb)
    leaf = synthetic.names_read(mixed, _EMBEDDED_SIZE, "1")
    return Case(
        mix=EMBEDDED,
        properties=_EMBEDDED_COUNT * _EMBEDDED_SIZE,
        read="leaf",
        responses=tuple(lookup_responses(pbs, ENTITIES_A_RESPONSE)),
        entities=ENTITIES_A_RESPONSE,
        reader=Leaf(path=(parent[len(parent) // 2], *leaf)),
    )


def document_entity(records: int = RECORDS) -> datastore.Entity:
    """An entity whose only property is the dict of `make_document`."""
    entity = datastore.Entity(key=datastore.Key(KIND, 1, project=PROJECT))
    entity[DOCUMENT] = make_document(records)
    return entity


def document_case(records: int = RECORDS) -> Case:
    """The one entity of `document_entity`, everything in it read; its values are counted."""
    pb = helpers.entity_to_protobuf(document_entity(records))._pb
    return Case(
        mix=DOCUMENT,
        properties=values_of(records),
        read="all",
        responses=tuple(lookup_responses([pb], 1)),
        entities=1,
        reader=ByName(plan=((DOCUMENT,),), deep=True),
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
        if synthetic.applies(count, read)
    }
    if "nested" in mixes:
        makers[f"{EMBEDDED}-leaf"] = embedded_case
        makers[f"{DOCUMENT}-all"] = document_case
    return makers
