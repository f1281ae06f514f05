from __future__ import annotations

import datetime
import itertools
from typing import Any

import pytest
from google.cloud.datastore import Entity

from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import sides
from lazyentity.bench.subjects import writes

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
    assert all(2000 <= len(raw) <= 3000 for raw in decoding.entities_of(response))


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
    assert read == decoding.make_document()
    assert "document-all" in decoding.select(["nested"], [5], synthetic.READS)
    assert "document-all" not in decoding.select(["mixed"], [5], synthetic.READS)


def test_embedded_case_reads_one_leaf() -> None:
    """The special case reads one leaf of ten times twenty properties."""
    case = decoding.embedded_case()
    entities = entities_of(case)
    assert {len(entity) for entity in entities} == {10}
    assert all(len(value) == 20 for value in entities[0].values())
    assert len(list(case.reader.values(entities))) == case.entities


@pytest.mark.parametrize(("changed", "count"), [("0", 0), ("1", 1), ("half", 10), ("all", 20)])
def test_what_is_written_holds_the_changes(changed: str, count: int) -> None:
    """As many properties as the case says are others afterwards, and of the types as before."""
    case = writes.rewrite(20, changed)
    before = [
        decoding.EntityMessage.FromString(raw)
        for response in case.source.responses
        for raw in decoding.entities_of(response)
    ]
    after = map(decoding.EntityMessage.FromString, writes.rewriting(case).tasks["stock"]())
    for old, new, changes in zip(before, after, case.changes, strict=True):
        assert old.key == new.key
        assert set(old.properties) == set(new.properties)
        others = {name for name in old.properties if old.properties[name] != new.properties[name]}
        assert others == {name for name, _ in changes}
        assert len(others) == count
        for name in others:
            kinds = {pb.properties[name].WhichOneof("value_type") for pb in (old, new)}
            assert len(kinds) == 1


def test_the_one_change_is_of_what_is_read() -> None:
    """One read and one change are of the same property."""
    case = writes.rewrite(20, "1")
    (read,) = synthetic.names_read(synthetic.MIXES[writes.MIX], 20, "1")
    assert {name for changes in case.changes for name, _ in changes} == {read}


def test_fewer_large_entities_are_put() -> None:
    """Of entities of up to 100 properties 500 are put, of larger ones fewer."""
    assert len(writes.fresh(100).entities) == 500
    assert len(writes.fresh(5).entities) == 500
    assert len(writes.fresh(500).entities) == 100


def test_documents_of_other_sizes() -> None:
    """The usual document has all of its groups; a smaller one is its beginning."""
    whole = decoding.make_document()
    assert decoding.values_of(960) == decoding.DOCUMENT_VALUES
    assert [len(group) for group in decoding.make_document(40).values()] == [32, 8]
    assert decoding.make_document(40)["group_00"] == whole["group_00"]
