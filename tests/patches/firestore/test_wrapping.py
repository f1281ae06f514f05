"""Wrapped clients and queries, and the public functions on snapshots."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest
from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from google.cloud.firestore_v1 import vector
from google.cloud.firestore_v1.base_vector_query import DistanceMeasure
from google.cloud.firestore_v1.types import document as document_pb2
from google.protobuf.message import DecodeError

import lazyentity
from lazyentity.firestore import from_bytes
from tests.patches.firestore.describing import described, is_lazy
from tests.patches.firestore.reading import fill
from tests.patches.firestore.server import DocumentServer

NANOSECONDS = DatetimeWithNanoseconds(
    2024, 1, 2, 3, 4, 5, nanosecond=678_901_234, tzinfo=datetime.timezone.utc
)


@pytest.fixture(autouse=True)
def _unpatched(server: DocumentServer) -> Iterator[None]:
    fill(server)
    yield
    lazyentity.unpatch("firestore")


def _are_lazy(side: Any, client: Any) -> set[bool]:
    found = side.all(client.collection("things").limit(2).stream)
    return {is_lazy(each) for each in [*found, side.one(client.document("things/01").get)]}


def test_nothing_else_changes(side: Any) -> None:
    """The client that was wrapped, and every other, read stock snapshots meanwhile and after."""
    wrapped = lazyentity.wrap(side.client)
    assert isinstance(wrapped, type(side.client))
    assert lazyentity.wrap(wrapped) is wrapped
    assert "firestore" not in lazyentity.patched()
    assert _are_lazy(side, wrapped) == {True}
    assert _are_lazy(side, side.client) == {False}
    assert _are_lazy(side, lazyentity.wrap(wrapped, eager=True)) == {False}
    lazyentity.patch("firestore", strict=True)
    assert _are_lazy(side, side.client) == _are_lazy(side, wrapped) == {True}
    lazyentity.unpatch("firestore")
    for client, expected in ((side.client, False), (wrapped, True), (side.client, False)):
        assert _are_lazy(side, client) == {expected}


def test_parts_of_a_client(client: Any) -> None:
    """Queries, collections, groups and references are wrapped with their client."""
    things = client.collection("things")
    nearest = things.find_nearest(
        "vector", vector.Vector([1.0]), limit=2, distance_measure=DistanceMeasure.EUCLIDEAN
    )
    group = client.collection_group("parts")
    for query in (things, things.order_by("number").limit(2), group, nearest):
        wrapped = lazyentity.wrap(query)
        assert type(wrapped) is type(query)
        assert {is_lazy(each) for each in wrapped.stream()} == {True}
        assert {is_lazy(each) for each in query.stream()} == {False}
    reference = client.document("things/01")
    snapshot = lazyentity.wrap(reference).get()
    assert is_lazy(snapshot)
    assert snapshot.reference == reference == snapshot.reference
    assert hash(snapshot.reference) == hash(reference)
    assert snapshot == reference.get() == snapshot
    assert snapshot.reference != lazyentity.wrap(client).document("things/02")


def test_errors_of_wrap(client: Any) -> None:
    for options in ({"prefetch": ["a"]}, {"strict": True}):
        with pytest.raises(TypeError, match=r"has no prefetch= and no strict="):
            lazyentity.wrap(client, **options)
    for given in (client.document("things/01").get(), client.collection("things").count()):
        with pytest.raises(TypeError, match=r"takes a google\.cloud\.firestore Client or Async"):
            lazyentity.wrap(given)


@pytest.fixture
def snapshots(client: Any) -> tuple[Any, Any]:
    """A stock and a lazy snapshot of a document."""
    reference = client.document("things/03")
    stock, lazy = reference.get(), lazyentity.wrap(reference).get()
    assert is_lazy(lazy)
    return stock, lazy


def test_raw(snapshots: tuple[Any, Any], client: Any) -> None:
    stock, lazy = snapshots
    messages = [document_pb2.Document.deserialize(lazyentity.raw(each)) for each in snapshots]
    assert messages[0] == messages[1]
    assert messages[0].name == stock.reference._document_path
    assert is_lazy(lazy)
    lazy._data["number"] = 7
    changed = document_pb2.Document.deserialize(lazyentity.raw(lazy))
    assert changed.fields["number"].integer_value == 7
    missing = lazyentity.wrap(client).document("things/missing").get()
    with pytest.raises(ValueError, match=r"there is no document 'things/missing'"):
        lazyentity.raw(missing)


def test_from_bytes(side: Any, snapshots: tuple[Any, Any]) -> None:
    client = side.client
    stock, lazy = snapshots
    made = from_bytes(lazyentity.raw(lazy), client)
    assert is_lazy(made)
    assert described(made.to_dict()) == described(stock.to_dict())
    assert described(made.get("map.a")) == described(stock.get("map.a"))
    assert (made.create_time, made.update_time) == (stock.create_time, stock.update_time)
    assert made.read_time is None
    assert made.exists
    assert type(made.reference) is type(client.document("a/b"))
    assert made.reference._document_path == stock.reference._document_path
    assert from_bytes(lazyentity.raw(stock), client) == made
    with lazyentity.eager():
        assert not is_lazy(from_bytes(lazyentity.raw(lazy), client))


def test_errors_of_from_bytes(client: Any) -> None:
    with pytest.raises(DecodeError):
        from_bytes(b"\xff", client)
    kind: Any = document_pb2.Document.pb()
    for name in ("", "projects/q/databases/d/documents/a/b"):
        with pytest.raises(ValueError, match="is no document in"):
            from_bytes(kind(name=name).SerializeToString(), client)
    odd = kind(name=client.document("a/b")._document_path, create_time={"seconds": 2**61})
    with pytest.raises((ValueError, OverflowError)):
        from_bytes(odd.SerializeToString(), client)


def test_what_does_not_apply(snapshots: tuple[Any, Any]) -> None:
    for snapshot in snapshots:
        with pytest.raises(TypeError, match=r"detach\(\) takes entities"):
            lazyentity.detach([snapshot])
        with pytest.raises(TypeError, match="takes an iterable"):
            lazyentity.columns(snapshot, ["number"])


def test_other_functions(snapshots: tuple[Any, Any], client: Any) -> None:
    stock, lazy = snapshots
    lazyentity.prefetch(lazy, "number", "map.a")
    assert sorted(lazyentity.decoded(lazy)) == ["map", "number"]
    assert sorted(lazyentity.decoded(stock)) == sorted(stock.to_dict())
    for snapshot in snapshots:
        assert lazyentity.to_dict(snapshot, "map.a.b", "number") == {"map.a.b": 3, "number": 3}
        for function in (lazyentity.to_dict, lazyentity.prefetch):
            with pytest.raises(KeyError):
                function(snapshot, "nope")
    whole = lazyentity.materialize(lazy)
    assert vars(whole).keys() == vars(stock).keys()
    assert described(whole) == described(lazy)
    assert lazyentity.materialize(stock) is stock
    assert lazy == whole
    # The comparison decoded it for good.
    assert vars(lazyentity.materialize(lazy)).keys() == vars(stock).keys()
    missing = lazyentity.wrap(client).document("things/missing").get()
    assert lazyentity.decoded(missing) == ()
    with pytest.raises(ValueError, match="there is no document"):
        lazyentity.to_dict(missing)
    with pytest.raises(KeyError):
        lazyentity.to_dict(missing, "a")


NAMES = ["number", "half", "text", "when", "none", "flag", "map.a.b", "list", "nope", "map.nope"]


def test_columns(client: Any, server: DocumentServer) -> None:
    """Of lazy, stock and missing documents: each value is as of ``get()``."""
    server.put("things/20", {"number": None, "when": NANOSECONDS})
    things = client.collection("things").order_by("text")
    expected: dict[str, list[Any]] = {name: [] for name in NAMES}
    stock = list(things.stream())
    for snapshot in stock:
        for name in NAMES:
            try:
                expected[name].append(snapshot.get(name))
            except KeyError:
                expected[name].append(None)
    lazy = list(lazyentity.wrap(things).stream())
    for snapshots in (stock, lazy, lazyentity.wrap(things).stream()):
        found = lazyentity.columns(snapshots, NAMES, missing="null")
        assert described(found) == described(expected)
    assert all(map(is_lazy, lazy))
    missing = client.document("things/missing").get()
    assert lazyentity.columns([missing, stock[1]], ["number"]) == {"number": [None, 1]}
    with pytest.raises(ValueError, match=r"a\.\.b"):
        lazyentity.columns(lazy, ["a..b"])
    for snapshots in (lazy, [missing]):
        with pytest.raises(KeyError, match="nope"):
            lazyentity.columns(snapshots, ["nope"], missing="raise")


def test_keys_of_columns(client: Any) -> None:
    found = list(lazyentity.wrap(client).collection("things").limit(2).stream())
    keys: dict[Any, list[Any]] = {
        "id": ["00", "01"],
        "path": [("things", "00"), ("things", "01")],
        "key": [each.reference for each in found],
    }
    for form, expected in keys.items():
        columns = lazyentity.columns(found, ["number"], key="k", key_as=form)
        assert columns == {"k": expected, "number": [0, 1]}
