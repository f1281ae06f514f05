"""Everything that reads or writes, as functions of a side: the cases of several tests."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1 import vector
from google.cloud.firestore_v1.base_query import FieldFilter
from google.cloud.firestore_v1.base_vector_query import DistanceMeasure
from google.cloud.firestore_v1.query_profile import ExplainOptions

from tests.patches.firestore.server import DocumentServer, Fields

WHEN = datetime.datetime(2024, 1, 2, 3, 4, 5, 678_901, tzinfo=datetime.timezone.utc)

Read = Callable[[Any], Any]


@functools.cache
def _documents() -> dict[str, Fields]:
    """Return twelve documents with values of all types, and some below one of them, by path."""
    documents = {
        f"things/{number:02}": Fields(
            {
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
        )
        for number in range(12)
    }
    parts = {f"things/01/parts/{number}": Fields({"number": number}) for number in range(3)}
    return documents | parts


def fill(server: DocumentServer) -> None:
    """Store the documents that the reads read."""
    for path, fields in _documents().items():
        server.put(path, fields)


def _things(side: Any) -> Any:
    return side.client.collection("things")


READS: dict[str, Read] = {
    "a_collection": lambda side: side.all(_things(side).stream),
    "a_collection_group": lambda side: side.all(side.client.collection_group("parts").stream),
    "an_offset": lambda side: side.all(_things(side).order_by("number").offset(9).stream),
    "some_fields": lambda side: side.all(_things(side).select(["number", "map"]).stream),
    "getting_a_query": lambda side: list(
        side.one(_things(side).order_by("number", direction="DESCENDING").limit(3).get)
    ),
    "listed_documents": lambda side: side.all(_things(side).list_documents),
    "limits_to_the_last": lambda side: list(
        side.one(_things(side).order_by("number").limit_to_last(3).get)
    ),
}


def read(function: Read) -> Read:
    """Add a way to read to the cases."""
    READS[function.__name__] = function
    return function


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
def cursors(side: Any) -> Any:
    query = _things(side).order_by("number")
    found = side.all(query.limit(4).stream)
    return [
        side.all(query.start_after(found[-1]).limit(3).stream),
        side.all(query.start_at(found[1]).end_before(found[3]).stream),
        side.all(query.start_at({"number": 10}).stream),
    ]


@read
def explained_queries(side: Any) -> Any:
    query = _things(side).order_by("number").limit(3)
    stream = query.stream(explain_options=ExplainOptions(analyze=True))
    found = side.all(lambda: stream)
    metrics = side.one(stream.get_explain_metrics)
    return found, metrics.plan_summary.indexes_used, metrics.execution_stats.results_returned


@read
def vector_queries(side: Any) -> Any:
    found, with_distances = (
        _things(side).find_nearest(
            "vector",
            vector.Vector([1.0, 2.0, 3.0]),
            limit=5,
            distance_measure=DistanceMeasure.EUCLIDEAN,
            distance_result_field=name,
        )
        for name in (None, "distance")
    )
    several = side.all(found.stream), side.all(with_distances.stream)
    return [*several, list(side.one(found.get))]


@read
def a_transaction(side: Any) -> Any:
    things = _things(side)

    def work(transaction: Any) -> list[Any]:
        return [
            side.client.get_all([things.document("02")], transaction=transaction),
            things.where(filter=FieldFilter("number", "<", 3)).stream(transaction=transaction),
        ]

    return side.in_transaction(work)


def _all_of(side: Any) -> Any:
    return side.all(_things(side).order_by("number").stream)


@read
def writes_in_a_transaction(side: Any) -> Any:
    things = _things(side)

    def work(transaction: Any) -> list[Any]:
        transaction.set(things.document("01"), {"number": 1, "deep": [{"a": [1.5]}]})
        transaction.update(things.document("02"), {"text": "new", "map.a": {}})
        transaction.create(things.document("new"), {"number": 100})
        return []

    return side.in_transaction(work), [each.to_dict() for each in _all_of(side)]
