"""Write the corpus: small entities of every kind, canonical and odd, sound and faulty; responses.

Run from the checkout as ``python -m tests.fuzz.seeds``, where the tests can run.
The output depends on the version of hypothesis; a new version needs no new corpus.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path

from google.cloud.datastore_v1.types import datastore as datastore_pb2, entity as entity_pb2
from hypothesis import HealthCheck, Phase, given, seed, settings

from lazyentity.codec.entityproto import PROPERTY
from tests.backends.indexes import ENTITY_PROTOS, SAMPLE, field
from tests.backends.malformed import MALFORMED, entity_of
from tests.fuzz.documents import SAMPLE as DOCUMENT
from tests.fuzz.mutation import with_varint_forms
from tests.support.strategies import Grammar, entities, wire
from tests.support.strategies.samples import PLAIN, RICH, serialise
from tests.support.strategies.schema import ARRAY, VALUE

CORPUS = Path(__file__).parent / "corpus"

_GRAMMARS = (
    Grammar(odd=False, properties=4, depth=1),
    Grammar(odd=False, faulty=True, properties=3),
    Grammar(odd=True, properties=3),
    Grammar(odd=True, faulty=True, properties=3),
)
_EXAMPLES = 40
_LARGEST = 256
# Stock drops unknown groups when it writes: there is room around 90, also in an embedded entity.
_DEPTHS_OF_GROUPS = (1, 4, 5, 90, 101)
_DEPTHS = (1, 5, 23, 24, 25, 26, 39, 40, 41, 48, 49, 50)


def _drawn(grammar: Grammar) -> set[bytes]:
    found: set[bytes] = set()

    @seed(1)
    @settings(
        max_examples=_EXAMPLES,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(entities(grammar))
    def collect(raw: bytes) -> None:
        if len(raw) <= _LARGEST:
            found.add(raw)

    collect()
    return found


def _responses() -> tuple[bytes, bytes]:
    """A lookup's and a query's response, each with two results and every other field."""
    lookup = datastore_pb2.LookupResponse.pb()(transaction=b"t", read_time={"seconds": 1})
    query = datastore_pb2.RunQueryResponse.pb()(
        batch={"skipped_results": 1, "end_cursor": b"end", "more_results": 3}, transaction=b"t"
    )
    for raw in (PLAIN, RICH):
        entity = entity_pb2.Entity.pb().FromString(raw)
        lookup.found.add(entity=entity, version=1, cursor=b"c")
        query.batch.entity_results.add(entity=entity, cursor=b"c", update_time={"nanos": 1})
    lookup.missing.add(entity=entity_pb2.Entity.pb()(key=entity.key))
    lookup.deferred.add().CopyFrom(entity.key)
    return lookup.SerializeToString(), query.SerializeToString()


RESPONSES = _responses()


def nested_arrays(depth: int) -> bytes:
    """Serialise an entity whose property ``a`` is ``depth`` arrays inside of each other."""
    value = [wire.integer(VALUE.integer_value, 1)]
    for _ in range(depth):
        value = [wire.message(VALUE.array_value, wire.message(ARRAY.values, *value))]
    return entity_of("a", *value)


def nested_entities(depth: int) -> bytes:
    """Serialise an entity with ``depth`` entities inside of each other, each the property ``a``."""
    raw = entity_of("a", wire.integer(VALUE.integer_value, 1))
    for _ in range(depth):
        raw = entity_of("a", wire.delimited(VALUE.entity_value, raw))
    return raw


def nested_groups(depth: int) -> wire.Field:
    """Make a field that no message has: ``depth`` groups inside of each other."""
    groups = wire.Field(99, wire.START_GROUP, b"")
    for _ in range(depth - 1):
        groups = groups._replace(payload=groups.encode())
    return groups


def _with_varint_forms() -> Iterator[bytes]:
    """Yield an entity and an ``EntityProto`` with a tag, length or number in some other forms."""
    for raw in (serialise({"a": 1, "b": "b"}), field(PROPERTY, field(3, b"a") + b"\x20\x00")):
        yield from itertools.islice(with_varint_forms(raw), None, None, 7)


def main() -> None:
    """Replace the corpus."""
    found = {PLAIN, RICH, SAMPLE, DOCUMENT, *ENTITY_PROTOS, b"", *RESPONSES}.union(
        MALFORMED.values(),
        *map(_drawn, _GRAMMARS),
    )
    for depth in _DEPTHS:
        found |= {nested_arrays(depth), nested_entities(depth)}
    found |= {PLAIN + nested_groups(depth).encode() for depth in _DEPTHS_OF_GROUPS}
    found.update(_with_varint_forms())
    CORPUS.mkdir(exist_ok=True)
    for old in CORPUS.iterdir():
        old.unlink()
    for raw in found:
        (CORPUS / hashlib.sha256(raw).hexdigest()[:16]).write_bytes(raw)


if __name__ == "__main__":
    main()
