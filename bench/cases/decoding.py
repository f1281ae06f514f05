"""The cases of the decode benchmark: serialised responses, and a reader of their entities."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from google.cloud import datastore
from google.cloud.datastore import helpers

from lazyentity.bench.cases import document, reading, synthetic
from lazyentity.bench.cases.synthetic import KIND, MIXES, PROJECT
from lazyentity.bench.cases.wire import entities_of, lookup_responses

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
    reader: reading.Reader

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
    """The case of ``read`` from entities of ``count`` properties of ``mix``.

    Raises:
        KeyError: there is no such mix.
    """
    chosen = MIXES[mix]
    reader: reading.Reader
    if read == "items":
        reader = reading.ThroughItems(deep=chosen.deep)
    else:
        names = synthetic.names_read(chosen, count, read)
        reader = reading.ByName(plan=(names,) * entities, deep=chosen.deep)
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
        reader=reading.Leaf(path=(parent[len(parent) // 2], *leaf)),
    )


def document_entity(records: int = document.RECORDS) -> datastore.Entity:
    """An entity whose only property is the dict of `document.make`."""
    entity = datastore.Entity(key=datastore.Key(KIND, 1, project=PROJECT))
    entity[DOCUMENT] = document.make(records)
    return entity


def document_case(records: int = document.RECORDS) -> Case:
    """The one entity of `document_entity`, everything in it read; its values are counted."""
    pb = helpers.entity_to_protobuf(document_entity(records))._pb
    return Case(
        mix=DOCUMENT,
        properties=document.values_of(records),
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
        if synthetic.applies(count, read)
    }
    if "nested" in mixes:
        makers[f"{EMBEDDED}-leaf"] = embedded_case
        makers[f"{DOCUMENT}-all"] = document_case
    return makers
