"""Objects and functions of other people in place of the client's: they stay in charge."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import grpc
import pytest
from google.api_core.gapic_v1.client_info import ClientInfo
from google.cloud import firestore
from google.cloud.firestore_v1 import (
    _helpers,
    base_client,
    base_document,
    base_query,
    document,
    field_path,
    query,
)
from google.cloud.firestore_v1.services.firestore.client import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports.grpc import FirestoreGrpcTransport
from google.cloud.firestore_v1.types import firestore as types_pb2

import lazyentity
from lazyentity.patches.api.proxies import Proxy
from tests.patches.firestore.conftest import Make
from tests.patches.firestore.describing import is_lazy
from tests.patches.firestore.server import DocumentServer

pytestmark = pytest.mark.usefixtures("numbered")


def test_a_mock_in_place_of_the_api(client: Any) -> None:
    """As the tests of applications have one."""
    lazyentity.patch("firestore", strict=True)
    api = mock.create_autospec(FirestoreClient, instance=True)
    found = types_pb2.BatchGetDocumentsResponse(
        found={
            "name": client.document("things/x")._document_path,
            "fields": _helpers.encode_dict({"a": 1}),
        }
    )
    api.batch_get_documents.return_value = iter([found])
    client._firestore_api_internal = api
    snapshot = client.document("things/x").get()
    assert snapshot.to_dict() == {"a": 1}
    assert not is_lazy(snapshot)
    api.batch_get_documents.assert_called_once()
    client._firestore_api_internal = None


def test_somebody_elses_transport_stays_in_charge(client: Any, server: DocumentServer) -> None:
    seen = []

    class Transport(FirestoreGrpcTransport):
        @property
        def run_query(self) -> Callable[[Any], Any]:
            seen.append("run_query")
            return super().run_query

    channel = grpc.insecure_channel(f"127.0.0.1:{server.port}")
    client._firestore_api_internal = FirestoreClient(transport=Transport(channel=channel))
    seen.clear()
    lazyentity.patch("firestore", strict=True)
    found = list(client.collection("things").stream())
    assert seen
    assert len(found) == 20
    assert not any(map(is_lazy, found))


@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.parametrize(
    ("module", "name"),
    [
        (_helpers, "decode_dict"),
        (_helpers, "decode_value"),
        (_helpers, "get_doc_id"),
        (_helpers, "reference_value_to_document"),
        (base_client, "_get_reference"),
        (base_client, "_path_helper"),
        (field_path, "get_nested_value"),
        (field_path, "parse_field_path"),
        (base_document.DocumentSnapshot, "__init__"),
        (base_document.DocumentSnapshot, "to_dict"),
        (base_document.DocumentSnapshot, "get"),
    ],
)
def test_a_replaced_conversion_stays_in_charge(
    module: Any, name: str, is_before: bool, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads are stock then, of a wrapped client too: the replacement sees what it would see."""
    if not is_before:
        lazyentity.patch("firestore", strict=True)
    original = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *args, **kwargs: original(*args, **kwargs))
    if is_before:
        with pytest.warns(RuntimeWarning, match=f"{name} was replaced by"):
            lazyentity.patch("firestore")
    found = list(client.collection("things").stream())
    assert len(found) == 20
    found.append(lazyentity.wrap(client).document("things/01").get())
    assert not any(map(is_lazy, found))
    assert found[3].to_dict() == {"number": 3, "map": {"a": [3, "text"]}}
    assert found[3].get("map.a") == [3, "text"]


@pytest.mark.parametrize("module", [base_client, document])
def test_a_replaced_class_of_snapshots(
    module: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets what the client's own gets."""

    class Snapshot(base_document.DocumentSnapshot):  # type: ignore[type-arg]  # a version has none
        pass

    def kinds() -> list[Any]:
        queries = client.collection("things"), client.collection_group("things")
        found = [next(iter(query.limit(1).stream())) for query in queries]
        return [
            (type(each), each.to_dict()) for each in (*found, client.document("things/01").get())
        ]

    monkeypatch.setattr(module, "DocumentSnapshot", Snapshot)
    stock = kinds()
    assert Snapshot in [kind for kind, _ in stock]
    lazyentity.patch("firestore", strict=True)
    assert kinds() == stock


@pytest.mark.parametrize("is_before", [True, False])
def test_a_function_replaced_where_it_is_called(
    is_before: bool, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets responses that act as messages."""
    if not is_before:
        lazyentity.patch("firestore", strict=True)
    seen: list[Any] = []

    def see(response: Any, *args: Any) -> Any:
        seen.append((isinstance(response, types_pb2.RunQueryResponse), response.document.name))
        return base_query._query_response_to_snapshot(response, *args)

    monkeypatch.setattr(query, "_query_response_to_snapshot", see)
    if is_before:
        lazyentity.patch("firestore", strict=True)
    found = list(client.collection("things").order_by("number").limit(2).stream())
    assert [each.id for each in found] == ["00", "01"]
    prefix = "projects/p/databases/(default)/documents/things"
    assert seen == [(True, f"{prefix}/00"), (True, f"{prefix}/01")]
    monkeypatch.undo()


def test_a_subclass_of_the_client(make_side: Make) -> None:
    class Own(firestore.Client):
        asked = 0

        @property
        def _firestore_api(self) -> Any:
            Own.asked += 1
            return super()._firestore_api

    lazyentity.patch("firestore", strict=True)
    own = make_side(Own).client
    assert is_lazy(own.document("things/01").get())
    assert Own.asked


def test_the_own_class_of_references(client: Any) -> None:
    """A reference is made by the client's own methods, also in a subclass of a collection."""

    class Reference(firestore.DocumentReference):
        pass

    class Collection(firestore.CollectionReference):
        def document(self, document_id: str | None = None) -> Any:
            return Reference(*self._path, document_id, client=self._client)

    lazyentity.patch("firestore", strict=True)
    snapshot = next(iter(Collection("things", client=client).stream()))
    assert is_lazy(snapshot)
    assert type(snapshot.reference) is Reference
    assert type(client.document("things/01").get().reference) is firestore.DocumentReference


class _Interceptor(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Records the method and the user agent of each RPC, and may change a field of documents."""

    def __init__(self, value: int | None) -> None:
        self._value = value
        self.seen: list[tuple[str, str]] = []

    def intercept_unary_unary(self, proceed: Any, details: Any, request: Any) -> Any:
        agent = dict(details.metadata)["x-goog-api-client"].partition(" ")[0]
        self.seen.append((details.method.rpartition("/")[2], agent))
        return proceed(details, request)

    def intercept_unary_stream(self, proceed: Any, details: Any, request: Any) -> Any:
        stream = self.intercept_unary_unary(proceed, details, request)
        return stream if self._value is None else self._changed(stream)

    def _changed(self, stream: Any) -> Iterator[Any]:
        for response in stream:
            found = getattr(response, "found", None) or response.document
            found.fields["number"].integer_value = self._value
            yield response


@pytest.mark.parametrize("is_late", [True, False])
@pytest.mark.parametrize("value", [None, 7])
def test_a_transport_that_somebody_made(
    value: int | None, is_late: bool, client: Any, server: DocumentServer
) -> None:
    """Its requests have its own headers; an interceptor of it sees each RPC, and all responses."""
    lazyentity.patch("firestore", strict=True)
    assert is_lazy(client.document("things/01").get())
    interceptor = _Interceptor(value)
    transport = FirestoreGrpcTransport(
        channel=grpc.intercept_channel(
            grpc.insecure_channel(f"127.0.0.1:{server.port}"), interceptor
        ),
        client_info=ClientInfo(user_agent="mine/1"),
    )
    if is_late:
        client._firestore_api_internal._transport = transport
    else:
        client._firestore_api_internal = FirestoreClient(transport=transport)
    found = [*client.collection("things").stream(), client.document("things/01").get()]
    assert [is_lazy(each) for each in found] == [value is None] * 21
    numbers = [each.get("number") for each in found]
    assert numbers == ([*range(20), 1] if value is None else [value] * 21)
    client.document("things/01").set({"a": 1})
    methods = ("RunQuery", "BatchGetDocuments", "Commit")
    assert interceptor.seen == [(method, "mine/1") for method in methods]


def test_logging_is_the_clients(
    side: Any, make_side: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """At DEBUG, one client is created, and each request and response is logged once."""

    def logged() -> Any:
        caplog.clear()
        with caplog.at_level(logging.DEBUG, "google"):
            made = make_side(type(side.client))
            made.all(made.client.collection("things").limit(2).stream)
            made.one(made.client.document("things/01").get)
            made.one(lambda: made.client.document("things/new").set({"a": 1}))
        return [
            (record.name, record.levelname, record.getMessage(), _told(record))
            for record in caplog.records
            if record.name.startswith("google.cloud.firestore_v1.services")
        ]

    stock = logged()
    lazyentity.patch("firestore", strict=True)
    assert logged() == stock


def _told(record: logging.LogRecord) -> Any:
    request = getattr(record, "httpRequest", None)
    return json.loads(json.dumps(request, default=str)) if request else None


@pytest.mark.parametrize("is_of_class", [False, True])
@pytest.mark.parametrize(
    ("name", "is_read"),
    [
        ("run_query", True),
        ("batch_get_documents", True),
        ("commit", False),
        ("list_documents", False),
    ],
)
def test_methods_of_the_api_object(
    name: str, is_read: bool, is_of_class: bool, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The object stays the client's, with every method that somebody put on it or its class since.

    A method that reads gets the client's requests and messages, that of a wrapped client too.
    """
    lazyentity.patch("firestore", strict=True)
    api = client._firestore_api
    seen: set[type[Any]] = set()
    assert api is client._firestore_api_internal
    holder = type(api) if is_of_class else api
    original = getattr(holder, name)

    def method(*args: Any, **kwargs: Any) -> Any:
        assert type(kwargs["request"]) is dict
        result = original(*args, **kwargs)
        received = list(result) if is_read else [result]
        seen.update(map(type, received))
        return iter(received) if is_read else result

    def are_lazy(of: Any) -> set[bool]:
        things = of.collection("things")
        found = [*things.stream(), things.document("01").get()]
        things.document("01").set({"a": 1})
        assert len(list(things.list_documents())) == 20
        return set(map(is_lazy, found))

    assert are_lazy(client) == {True}
    monkeypatch.setattr(holder, name, method)
    for each in (client, lazyentity.wrap(client)):
        seen.clear()
        assert are_lazy(each) == {not is_read}
        (kind,) = seen
        assert not issubclass(kind, Proxy)
    monkeypatch.undo()
    assert are_lazy(client) == {True}


def test_somebody_elses_deserialiser_stays_in_charge(side: Any) -> None:
    """As put into a stub of the client."""
    lazyentity.patch("firestore", strict=True)
    things = side.client.collection("things")
    assert all(map(is_lazy, side.all(things.stream)))
    seen: list[bytes] = []

    def read(raw: bytes) -> Any:
        seen.append(raw)
        return types_pb2.RunQueryResponse.deserialize(raw)

    side.client._firestore_api_internal.transport.run_query._response_deserializer = read
    found = side.all(things.stream)
    assert len(found) == 20
    assert len(seen) >= 20
    assert not any(map(is_lazy, found))
