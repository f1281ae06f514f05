"""The write benchmark: entities in, messages out, the stock client's against the patched one's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from google.cloud.datastore import Entity, helpers

from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import sides, verify
from lazyentity.bench.harness.lines import Put, ReadModifyWrite
from lazyentity.bench.harness.timing import MICROSECONDS, SIDES, Budget, Comparison, Task, figures

MIX = "mixed"
CHANGES = ("0", "1", "half", "all")
"""How many properties are changed: none, the one that is read, the first half, all."""

ENTITIES_PUT = 500
_MOST_PROPERTIES_PUT = 50_000


@dataclass(frozen=True)
class Rewrite:
    """Entities that are read from ``source``, changed, and serialised again.

    ``changes`` are the names and new values for each entity; ``changed``, one of `CHANGES`, says
    how many these are.
    """

    source: decoding.Case
    changed: str
    changes: tuple[tuple[tuple[str, Any], ...], ...]


@dataclass(frozen=True)
class Fresh:
    """Entities that user code made, ``properties`` values in each, as they are before a put."""

    mix: str
    properties: int
    entities: tuple[Entity, ...]


def rewrite(properties: int, changed: str) -> Rewrite:
    """The entities of a decode case, one property read, and new values of the same types."""
    mix = synthetic.MIXES[MIX]
    source = decoding.case(MIX, properties, "1")
    names = synthetic.names_read(mix, properties, changed)
    # Entity n gets the values of n + 1, so that every value changes.
    donors = [mix.entity(properties, number + 1) for number in range(source.entities)]
    changes = tuple(tuple((name, donor[name]) for name in names) for donor in donors)
    return Rewrite(source, changed, changes)


def fresh(properties: int) -> Fresh:
    """`ENTITIES_PUT` entities, or fewer large ones: a round should not last seconds."""
    mix = synthetic.MIXES[MIX]
    count = min(ENTITIES_PUT, _MOST_PROPERTIES_PUT // properties)
    entities = tuple(mix.entity(properties, number) for number in range(count))
    return Fresh(MIX, properties, entities)


def fresh_document() -> Fresh:
    """The one entity of `decoding.document_entity`."""
    return Fresh(decoding.DOCUMENT, decoding.DOCUMENT_VALUES, (decoding.document_entity(),))


def select_rewrites(counts: Sequence[int]) -> dict[str, Callable[[], Rewrite]]:
    """Makers of the cases of all `CHANGES` at these property counts, by a name for each."""
    return {
        f"{count}-{changed}": functools.partial(rewrite, count, changed)
        for count in counts
        for changed in CHANGES
    }


def select_puts(counts: Sequence[int]) -> dict[str, Callable[[], Fresh]]:
    """Makers of the cases of these property counts and of the document, by a name for each."""
    return {
        **{f"{MIX}-{count}": functools.partial(fresh, count) for count in counts},
        decoding.DOCUMENT: fresh_document,
    }


def _rewrite_task(side: sides.Side, case: Rewrite) -> Task:
    responses, reader, changes = case.source.responses, case.source.reader, case.changes
    entities_of, to_bytes = side.entities, sides.to_bytes

    def read_change_and_write() -> list[bytes]:
        entities = [entity for response in responses for entity in entities_of(response)]
        reader(entities)
        for entity, changed in zip(entities, changes, strict=True):
            for name, value in changed:
                entity[name] = value
        return [to_bytes(entity) for entity in entities]

    return read_change_and_write


def rewriting(case: Rewrite) -> Comparison:
    """The stock and the lazy way of ``case``, which return the serialised messages."""
    tasks = {"stock": _rewrite_task(sides.STOCK, case), "lazy": _rewrite_task(sides.LAZY, case)}
    return Comparison(tasks, verify.check_messages, sides.CONTEXTS)


def putting(case: Fresh) -> Comparison:
    """The stock and the lazy way of ``case``, which return the messages.

    The tasks are the same; only the client differs, by its patch.
    """

    def to_messages() -> list[Any]:
        to_protobuf = helpers.entity_to_protobuf
        return list(map(to_protobuf, case.entities))

    def check(stock: Sequence[Any], lazy: Sequence[Any]) -> None:
        verify.check_messages(_serialized(stock), _serialized(lazy))

    return Comparison(dict.fromkeys(SIDES, to_messages), check, sides.CONTEXTS)


def _serialized(messages: Sequence[Any]) -> list[bytes]:
    return [message._pb.SerializeToString() for message in messages]


def measure_rewrite(case: Rewrite, budget: Budget) -> ReadModifyWrite:
    """Time ``case``."""
    timed, source = rewriting(case).timed(budget), case.source
    return ReadModifyWrite(
        mix=source.mix,
        properties=source.properties,
        changed=case.changed,
        entities=source.entities,
        wire_bytes=source.wire_bytes,
        **figures(timed, MICROSECONDS / source.entities, ratio=SIDES),
    )


def measure_put(case: Fresh, budget: Budget) -> Put:
    """Time ``case``."""
    timed, entities = putting(case).timed(budget), len(case.entities)
    return Put(
        mix=case.mix,
        properties=case.properties,
        entities=entities,
        wire_bytes=round(sum(map(len, _serialized(timed["stock"].last))) / entities),
        **figures(timed, MICROSECONDS / entities, ratio=SIDES),
    )
