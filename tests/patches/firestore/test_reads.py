"""Everything that reads gives what the stock client gives, with either kind of client."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pytest
from google.cloud import firestore
from google.cloud.firestore_v1 import vector
from google.cloud.firestore_v1.base_query import FieldFilter
from google.cloud.firestore_v1.base_vector_query import DistanceMeasure

import lazyentity
from tests.patches.firestore.conftest import Make
from tests.patches.firestore.describing import outcome
from tests.patches.firestore.server import DocumentServer

KINDS = [firestore.Client, firestore.AsyncClient]
WHEN = datetime.datetime(2024, 1, 2, 3, 4, 5, 678_901, tzinfo=datetime.timezone.utc)

Read = Callable[[Any], Any]
READS: dict[str, Read] = {}


def read(function: Read) -> Read:
    """Add a way to read to the cases."""
    READS[function.__name__] = function
    return function


class Server(Protocol):
    """A server of documents."""

    def put(self, path: str, fields: dict[str, Any]) -> None: ...


def fill(server: Server) -> None:
    """Store twelve documents with values of all types, and some below one of them."""
    for number in range(12):
        fields = {
            "number": number,
            "half": number / 2,
            "text": f"text {number}",
            "when": WHEN,
            "bytes": b"\0\xff",
            "none": None,
            "flag": number % 2 == 0,
            "point": firestore.GeoPoint(1.5, -2.5),
            "list": [1, "a", {"deep": [None]}],
            "map": {"a": {"b": number}, "empty": {}},
            "vector": vector.Vector([1.0, 2.0, number]),
        }
        server.put(f"things/{number:02}", fields)
    for number in range(3):
        server.put(f"things/01/parts/{number}", {"number": number})


def _things(side: Any) -> Any:
    return side.client.collection("things")


@read
def lookups(side: Any) -> Any:
    things = _things(side)
    return [
        side.one(things.document("03").get),
        side.one(things.document("missing").get),
        side.one(lambda: things.document("03").get(["number", "text"])),
    ]


@read
def many_lookups(side: Any) -> Any:
    names = ("05", "missing", "01", "05")
    return side.all(lambda: side.client.get_all([_things(side).document(one) for one in names]))


@read
def a_collection(side: Any) -> Any:
    return side.all(_things(side).stream)


@read
def getting_a_query(side: Any) -> Any:
    query = _things(side).order_by("number", direction="DESCENDING").limit(3)
    return list(side.one(query.get))


@read
def limits_to_the_last(side: Any) -> Any:
    return list(side.one(_things(side).order_by("number").limit_to_last(3).get))


@read
def filters(side: Any) -> Any:
    things = _things(side)
    queries = (
        things.where(filter=FieldFilter("number", ">", 9)),
        things.where(filter=FieldFilter("text", "==", "text 4")),
        things.where(filter=FieldFilter("none", "==", None)).limit(2),
        things.where(filter=FieldFilter("number", ">", 99)),
    )
    return [side.all(query.stream) for query in queries]


@read
def cursors(side: Any) -> Any:
    query = _things(side).order_by("number")
    found = side.all(query.limit(4).stream)
    return [
        side.all(query.start_after(found[-1]).limit(3).stream),
        side.all(query.start_at(found[1]).end_before(found[3]).stream),
        side.all(query.start_at({"number": 10}).stream),
    ]


@read
def some_fields(side: Any) -> Any:
    return side.all(_things(side).select(["number", "map"]).stream)


@read
def a_collection_group(side: Any) -> Any:
    return side.all(side.client.collection_group("parts").stream)


@read
def an_offset(side: Any) -> Any:
    return side.all(_things(side).order_by("number").offset(9).stream)


@read
def vector_queries(side: Any) -> Any:
    found = _things(side).find_nearest(
        "vector",
        vector.Vector([1.0, 2.0, 3.0]),
        limit=5,
        distance_measure=DistanceMeasure.EUCLIDEAN,
    )
    return side.all(found.stream)


@read
def a_transaction(side: Any) -> Any:
    things = _things(side)

    def work(transaction: Any) -> list[Any]:
        return [
            side.client.get_all([things.document("02")], transaction=transaction),
            things.where(filter=FieldFilter("number", "<", 3)).stream(transaction=transaction),
        ]

    return side.in_transaction(work)


@read
def listed_documents(side: Any) -> Any:
    listed = _things(side).list_documents()
    if hasattr(listed, "__aiter__"):
        return side.all(lambda: listed)
    return list(listed)


@read
def values(side: Any) -> Any:
    found = side.one(_things(side).document("07").get)
    names = ("map.a.b", "list", "point", "vector", "when", "map", "nope", "map.nope", "number.a")
    return [outcome(lambda: found.get(name)) for name in names]  # noqa: B023


@read
def equality(side: Any) -> Any:
    one, other, third = (side.one(_things(side).document(name).get) for name in ("01", "01", "02"))
    return one == other, one == third, one != other, hash(one) == hash(other), one == 1


@read
def documents_that_changed(side: Any) -> Any:
    reference = _things(side).document("04")
    before = side.one(reference.get)
    side.one(lambda: reference.update({"number": 40, "map.a.c": [1]}))
    side.one(lambda: reference.set({"more": firestore.SERVER_TIMESTAMP}, merge=True))
    after = side.one(reference.get)
    side.one(reference.delete)
    return before, after, side.one(reference.get)


def _all_of(side: Any) -> Any:
    return side.all(_things(side).order_by("number").stream)


@read
def writes_of_documents(side: Any) -> Any:
    things = _things(side)
    fields = side.one(things.document("03").get).to_dict()
    plain = {
        **fields,
        "number": 100,
        "here": things.document("01"),
        "naive": WHEN.replace(tzinfo=None),
    }
    side.one(lambda: things.document("new").create(plain))
    refused = outcome(lambda: side.one(lambda: things.document("new").create(plain)))
    side.one(lambda: things.document("04").set({"number": 4, "a`b": [{"": 1}]}))
    side.one(lambda: things.document("05").set({"map": {"a": {"c": 1}}, "list": []}, merge=True))
    side.one(lambda: things.document("06").update({"map.a.b": [fields], "text": "new"}))
    side.one(lambda: things.add({"number": 101, "at": firestore.SERVER_TIMESTAMP}, "added"))
    missing = outcome(lambda: side.one(lambda: things.document("no").update({"a": 1})))
    return refused[0], missing[0], [each.to_dict() for each in _all_of(side)]


@read
def a_batch(side: Any) -> Any:
    things, batch = _things(side), side.client.batch()
    batch.create(things.document("new"), {"number": 100})
    batch.set(things.document("01"), {"number": 1, "map": {"a": None}})
    batch.set(things.document("02"), {"map": {"new": 1}}, merge=True)
    batch.set(things.document("03"), {"number": 33, "text": "no"}, merge=["number"])
    batch.update(things.document("04"), {"map.a": b"bytes", "number": firestore.Increment(1)})
    batch.update(things.document("05"), {"list": firestore.ArrayUnion([1, "b"]), "text": "t"})
    batch.delete(things.document("06"))
    results = side.one(batch.commit)
    return len(results), [each.to_dict() for each in _all_of(side)]


@read
def writes_in_a_transaction(side: Any) -> Any:
    things = _things(side)

    def work(transaction: Any) -> list[Any]:
        transaction.set(things.document("01"), {"number": 1, "deep": [{"a": [1.5]}]})
        transaction.update(things.document("02"), {"text": "new", "map.a": {}})
        transaction.create(things.document("new"), {"number": 100})
        return []

    return side.in_transaction(work), [each.to_dict() for each in _all_of(side)]


@read
def a_bulk_writer(side: Any) -> Any:
    """``AsyncClient`` has none."""
    if not hasattr(side.client, "bulk_writer"):
        return []
    things, writer = _things(side), side.client.bulk_writer()
    for number in range(30):
        writer.create(things.document(f"new{number}"), {"number": 100 + number, "list": [number]})
    writer.set(things.document("01"), {"map": {"new": 1}}, merge=True)
    writer.close()
    return [each.to_dict() for each in _all_of(side)]


@read
def deletion_of_all(side: Any) -> Any:
    deleted = side.one(lambda: side.client.recursive_delete(_things(side)))
    return deleted, side.all(_things(side).stream)


@contextlib.contextmanager
def _patched(way: str) -> Iterator[None]:
    """Read in one of the ways that an application has."""
    lazyentity.patch("firestore", strict=True, eager=way == "patch(eager=True)")
    try:
        with lazyentity.eager() if way == "eager()" else contextlib.nullcontext():
            yield
    finally:
        lazyentity.unpatch("firestore")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("way", ["lazy", "eager()", "patch(eager=True)"])
def test_same_results(
    way: str, name: str, kind: type[Any], make_side: Make, server: DocumentServer
) -> None:
    side = make_side(kind)

    def result() -> Any:
        server.clear()
        fill(server)
        return outcome(lambda: READS[name](side)), list(server.calls)

    expected = result()
    assert expected[0][0] in (list, tuple), expected
    with _patched(way):
        assert result() == expected
    assert result() == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["lazy", "eager()", "patch(eager=True)"])
def test_fields_are_decoded_on_demand(
    way: str, kind: type[Any], make_side: Make, server: DocumentServer
) -> None:
    """In eager modes at once; either way they are stock snapshots by type."""
    fill(server)
    side = make_side(kind)
    with _patched(way):
        things = _things(side)
        found = [
            *side.all(things.stream),
            side.one(things.document("01").get),
            *side.all(side.client.collection_group("parts").stream),
        ]
    assert len(found) == 12 + 1 + 3
    assert {type(each) for each in found} == {firestore.DocumentSnapshot}
    assert {"_data" in vars(each) for each in found} == {way != "lazy"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_query_goes_on_after_a_failure(
    kind: type[Any], make_side: Make, server: DocumentServer
) -> None:
    """The client asks again for those after the last snapshot, whose fields it then needs."""
    fill(server)
    side = make_side(kind)
    query = _things(side).order_by("number")

    def result() -> Any:
        server.calls.clear()
        server.unavailable_after = 5
        return outcome(lambda: [each.id for each in side.all(query.stream)]), len(server.calls)

    expected = result()
    with _patched("lazy"):
        assert result() == expected
