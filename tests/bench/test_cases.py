from __future__ import annotations

import datetime
import itertools
from typing import Any

import pytest
from google.cloud.datastore import Entity

from lazyentity.bench.cases import decoding, document, synthetic, wire
from lazyentity.bench.harness import sides

STOCK = sides.STOCK.entities


def entities_of(case: decoding.Case) -> list[Entity]:
    return [entity for response in case.responses for entity in STOCK(response)]


@pytest.mark.parametrize("mix", synthetic.MIXES)
@pytest.mark.parametrize("count", [1, 5, 50])
def test_entities_have_the_properties_that_the_case_says(mix: str, count: int) -> None:
    """A case holds that many entities of that many properties, no two alike."""
    case = decoding.case(mix, count, "all", entities=45)
    entities = entities_of(case)
    assert len(entities) == case.entities == 45
    assert {len(entity) for entity in entities} == {count}
    assert len({entity.key.id for entity in entities}) == 45
    assert all(first != second for first, second in itertools.pairwise(entities))


def test_mixed_properties_are_of_six_types() -> None:
    """The mixed mix rotates through strings, ints, floats, booleans, timestamps and blobs."""
    entity = entities_of(decoding.case("mixed", 12, "all"))[0]
    types = [type(entity[name]).__mro__ for name in synthetic.MIXES["mixed"].names(12)]
    assert all(
        wanted in mro
        for mro, wanted in zip(
            types, [str, int, float, bool, datetime.datetime, bytes] * 2, strict=True
        )
    )


def test_mixed_properties_are_of_ordinary_size() -> None:
    """A mixed property takes 20 to 30 bytes on the wire, its name included."""
    (response,) = decoding.case("mixed", 100, "all").responses
    assert all(2000 <= len(raw) <= 3000 for raw in wire.entities_of(response))


def test_same_bytes_every_time() -> None:
    """Cases are the same in every run."""
    decoding._responses.cache_clear()
    first = decoding.case("nested", 8, "all").responses
    decoding._responses.cache_clear()
    assert decoding.case("nested", 8, "all").responses == first


@pytest.mark.parametrize("count", synthetic.COUNTS)
def test_four_reads_take_four_types(count: int) -> None:
    """Four reads of the mixed mix take a string, an int, a float and a boolean."""
    names = synthetic.names_read(synthetic.MIXES["mixed"], count, "4")
    if synthetic.applies(count, "4"):
        prefixes = [name.rsplit("_", 1)[0] for name in names]
        assert prefixes == ["text", "count", "amount", "active"]
        assert len(set(names)) == 4


def test_reads_are_not_repeated_under_another_name() -> None:
    """A small entity is not measured twice for the same reads."""
    assert list(decoding.select(["mixed"], [1], synthetic.READS)) == [
        "mixed-1-0",
        "mixed-1-all",
        "mixed-1-items",
        "mixed-1-eager",
        "mixed-1-materialized",
    ]
    assert "mixed-5-4" in decoding.select(["mixed"], [5], synthetic.READS)
    assert not synthetic.applies(4, "4")


def test_half_is_half() -> None:
    """Half of the properties means the first half."""
    mix = synthetic.MIXES["strings"]
    assert synthetic.names_read(mix, 10, "half") == mix.names(10)[:5]


def test_document_case_reads_everything() -> None:
    """The other special case is one dict of about 500 KB, with lists and dicts inside of dicts."""

    def values(value: Any) -> list[Any]:
        inner = value.values() if isinstance(value, dict) else value
        if not isinstance(value, (dict, list)):
            return [value]
        return [leaf for item in inner for leaf in values(item)]

    case = decoding.document_case()
    (entity,) = entities_of(case)
    assert 480_000 < case.wire_bytes < 520_000
    assert len(values(entity)) == case.properties
    assert {type(value) for value in values(entity)} == {str, int, float, bool, type(None)}
    ((_, read),) = case.reader.values([entity])
    assert read == document.make()
    assert "document-all" in decoding.select(["nested"], [5], synthetic.READS)
    assert "document-all" not in decoding.select(["mixed"], [5], synthetic.READS)


def test_embedded_case_reads_one_leaf() -> None:
    """The special case reads one leaf of ten times twenty properties."""
    case = decoding.embedded_case()
    entities = entities_of(case)
    assert {len(entity) for entity in entities} == {10}
    assert all(len(value) == 20 for value in entities[0].values())
    assert len(list(case.reader.values(entities))) == case.entities
