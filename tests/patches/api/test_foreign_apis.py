"""Clients with foreign parts: mocks, subclasses, and transports of an application's own."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import wrapt
from google.auth.credentials import AnonymousCredentials
from google.cloud import datastore
from google.cloud.datastore import _http
from google.cloud.datastore._http import HTTPDatastoreAPI
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.datastore_v1.types import query as query_pb2

import lazyentity
from lazyentity.patches.datastore.apis import lazy_api
from tests.patches.conftest import Make
from tests.patches.datastore.activations import LAZILY, Activate
from tests.patches.order_program import KIND, read
from tests.support.describing import describe

Client = datastore.Client

FINISHED = query_pb2.QueryResultBatch.MoreResultsType.NO_MORE_RESULTS


def _result(client: Client) -> query_pb2.EntityResult:
    entity = datastore.Entity(client.key("Mocked", 1))
    entity.update({"a": 1, "inner": datastore.Entity(), "list": [datastore.Entity()]})
    return query_pb2.EntityResult(entity=datastore.helpers.entity_to_protobuf(entity))


def _mock_api(client: Client) -> mock.Mock:
    """Return an API object as the client's own unit tests make them."""
    api = mock.Mock(spec=["lookup", "run_query"])
    api.lookup.return_value = datastore_pb2.LookupResponse(found=[_result(client)])
    batch = query_pb2.QueryResultBatch(entity_results=[_result(client)], more_results=FINISHED)
    api.run_query.return_value = datastore_pb2.RunQueryResponse(batch=batch)
    return api


def _mocked(rpc: Any, calls: list[Any]) -> Any:
    return mock.Mock(side_effect=_decorated(rpc, calls))


def _decorated(rpc: Any, calls: list[Any]) -> Any:
    @functools.wraps(rpc)
    def call(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return rpc(*args, **kwargs)

    return call


def _traced(rpc: Any, calls: list[Any]) -> Any:
    def trace(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        calls.append(args)
        return wrapped(*args, **kwargs)

    return wrapt.FunctionWrapper(rpc, trace)


@pytest.mark.parametrize("activate", LAZILY)
class TestForeignApis:
    """A foreign API object is used as it is, and gives stock's results."""

    @pytest.mark.parametrize("transport", ["grpc"])
    def test_mock(self, client: Client, activate: Activate) -> None:
        api = client._datastore_api_internal = _mock_api(client)
        stock = [client.get(client.key("Mocked", 1)), *client.query().fetch()]
        client = activate(client)
        assert client._datastore_api is api
        entities = [client.get(client.key("Mocked", 1)), *client.query().fetch()]
        assert api.lookup.call_count == api.run_query.call_count == 2
        # Real messages that it returns become lazy, without a warning, which is an error here.
        assert {type(entity) for entity in entities} == {lazyentity.LazyEntity}
        assert describe(entities) == describe(stock)

    @pytest.mark.parametrize("transport", ["grpc"])
    def test_mock_of_everything(self, client: Client, activate: Activate) -> None:
        """An object that has every attribute is not mistaken for one of the client's own."""
        api = client._datastore_api_internal = mock.MagicMock(spec=DatastoreClient)
        assert activate(client)._datastore_api is api

    @pytest.mark.parametrize("part", ["API object", "transport"])
    def test_subclass(self, make: Make, transport: str, activate: Activate, part: str) -> None:
        """An API object, or a gRPC transport, of a subclass may send its reads any way it likes."""

        class OwnClient(DatastoreClient):
            pass

        class OwnTransport(DatastoreGrpcTransport):
            pass

        class OwnAPI(HTTPDatastoreAPI):
            pass

        client = make()
        stock = read(client)["contents"]
        api: Any = OwnAPI(client)  # type: ignore[no-untyped-call]  # upstream is untyped
        if transport == "grpc":
            is_own = part == "transport"
            channel = client._datastore_api.transport.grpc_channel
            sending = (OwnTransport if is_own else DatastoreGrpcTransport)(channel=channel)
            api = (DatastoreClient if is_own else OwnClient)(transport=sending)
        client._datastore_api_internal = api
        client = activate(client)
        assert client._datastore_api is api
        assert read(client)["contents"] == stock
        # Freed with the client, without the garbage collector.
        freed = weakref.ref(api)
        client._datastore_api_internal = api = None
        del client
        assert freed() is None

    @pytest.mark.parametrize("method", ["lookup", "run_query", "begin_transaction"])
    @pytest.mark.parametrize("is_late", [False, True])
    def test_own_method(
        self, client: Client, activate: Activate, method: str, is_late: bool, stock_contents: Any
    ) -> None:
        """An API object with a method put in, as mock.patch.object does it, is left alone."""
        api = client._datastore_api
        own = mock.Mock(wraps=getattr(api, method))
        if is_late:
            client = activate(client)
            assert read(client)["classes"] == ["LazyEntity"]
            assert client._datastore_api is not api
        setattr(api, method, own)
        if not is_late:
            client = activate(client)
        assert client._datastore_api is api
        assert read(client)["contents"] == stock_contents
        with client.transaction():
            assert own.call_count

    def test_what_sends_is_replaced(
        self, make: Make, transport: str, activate: Activate, stock_contents: Any
    ) -> None:
        """Reads go on over another connection that an API object is given."""
        client, other = make(), make()
        sending = other._datastore_api
        reading = activate(client)
        assert read(reading)["classes"] == ["LazyEntity"]
        api: Any = client._datastore_api_internal
        if transport == "grpc":
            api.transport.close()
            api._transport = sending.transport
        else:
            client._base_url = "http://127.0.0.1:1"
            api.client = other
        assert read(reading) == {"classes": ["LazyEntity"], "contents": stock_contents}

    @pytest.mark.parametrize("transport", ["grpc"])
    @pytest.mark.parametrize("method", ["lookup", "run_query", "commit"])
    @pytest.mark.parametrize("put_around", [_mocked, _decorated, _traced])
    def test_own_policy(
        self, client: Client, activate: Activate, method: str, put_around: Callable[..., Any]
    ) -> None:
        """Somebody's function around the RPCs of a method is called."""
        api = client._datastore_api
        stub, methods = getattr(api.transport, method), api.transport._wrapped_methods
        calls: list[Any] = []
        methods[stub] = put_around(methods[stub], calls)
        client = activate(client)
        # The other tests of the server write no entities of this kind.
        key = client.key("Policy", 1)
        client.put(datastore.Entity(key))
        assert client.get(key) is not None
        assert len(list(client.query(kind="Policy").fetch())) == 1
        assert len(calls) == 1

    @pytest.mark.parametrize("transport", ["grpc"])
    def test_own_stub(self, client: Client, activate: Activate) -> None:
        """A mock that is put into the class of transports fails as in stock, and where it does."""
        api = client._datastore_api
        client = activate(client)
        with mock.patch.object(DatastoreGrpcTransport, "lookup", new_callable=mock.PropertyMock):
            assert client._datastore_api is api
            client.put(datastore.Entity(client.key("Sent", 2)))
            with pytest.raises(KeyError):
                client.get(client.key("Sent", 2))

    @pytest.mark.parametrize(
        ("transport", "method"),
        [*itertools.product(("grpc", "http"), ("lookup", "run_query")), ("http", "_rpc")],
    )
    def test_own_method_of_the_class(
        self, client: Client, transport: str, activate: Activate, method: str
    ) -> None:
        """Set on the class of the API objects, or in its module: it is called as stock calls it."""
        api: Any = DatastoreClient if transport == "grpc" else HTTPDatastoreAPI
        stock: Any = _http if method == "_rpc" else api
        original = getattr(stock, method)
        given: list[Any] = []

        def spy(api: Any, *args: Any, **options: Any) -> Any:
            given.append((args, options))
            return original(api, *args, **options)

        with mock.patch.object(stock, method, spy):
            contents = read(client)["contents"]
            given_by_stock = given.copy()
            given.clear()
            client = activate(client)
            assert read(client)["contents"] == contents
            assert given == given_by_stock != []
        again = read(client)
        assert again == {"classes": ["LazyEntity"], "contents": contents}


class TestClientSubclass:
    """A subclass of Client keeps its overrides."""

    class Counting(datastore.Client):
        """A client that counts and labels its reads, as one with a cache might."""

        reads = 0

        def get_multi(self, keys: Any, *args: Any, **kwargs: Any) -> Any:
            self.reads += len(keys)
            return super().get_multi(keys, *args, **kwargs)  # type: ignore[no-untyped-call]  # upstream

        def query(self, **kwargs: Any) -> Any:
            return super().query(**{"kind": KIND, **kwargs})  # type: ignore[no-untyped-call]  # upstream

    @pytest.mark.parametrize("activate", LAZILY)
    def test_overridden_methods_are_called(
        self, make: Make, activate: Activate, stock_contents: Any
    ) -> None:
        client: Any = activate(make(kind=self.Counting))
        result = read(client)
        assert client.reads == 1 + 3
        assert result == {"classes": ["LazyEntity"], "contents": stock_contents}
        assert [type(entity) for entity in client.query().fetch(limit=1)] == [lazyentity.LazyEntity]

    @pytest.mark.parametrize("activate", LAZILY)
    def test_its_own_reads_need_not_be_entities(self, make: Make, activate: Activate) -> None:
        """The result of an override is passed on untouched."""

        class Other(datastore.Client):
            def get_multi(self, *_args: Any, **_kwargs: Any) -> Any:
                return ["something"]

            def query(self, **_kwargs: Any) -> Any:
                return "some query"

        client = activate(make(kind=Other))
        assert client.get(client.key("Any", 1)) == "something"
        assert client.query(kind="Any") == "some query"

    def test_its_own_api_property_is_not_replaced(self, make: Make) -> None:
        """Patching replaces the property of Client; that of a subclass is the subclass's."""

        class Other(datastore.Client):
            @property
            def _datastore_api(self) -> Any:
                return "some API"

        client = make(kind=Other)
        lazyentity.patch()
        assert client._datastore_api == "some API"


def test_an_api_object_with_options_of_the_application() -> None:
    """Its counterparts have them all: an error of authentication names the credentials."""
    credentials = AnonymousCredentials()
    options = {"api_endpoint": "localhost:1", "quota_project_id": "q"}
    stock: Any = DatastoreClient(credentials=credentials, client_options=options)
    lazy: Any = lazy_api(stock)
    assert lazy.transport.grpc_channel is stock.transport.grpc_channel
    for made in (lazy,):
        assert made is not stock
        assert issubclass(type(made), DatastoreClient)
        assert made.transport is not stock.transport
        assert made.transport._credentials is stock.transport._credentials is credentials
        # Before 2.20, the client has none of these.
        for name in ("api_endpoint", "universe_domain", "_client_options"):
            assert getattr(made, name, None) == getattr(stock, name, None)
    stock.transport.close()


def test_two_threads_that_make_the_first_call() -> None:
    """Both use the stubs that one of them made, which have their wrapped methods at once."""
    api: Any = DatastoreClient(credentials=AnonymousCredentials())
    state = vars(api.transport)
    made_by_the_other: list[Any] = []

    def unary_unary(*_args: Any, **_options: Any) -> Any:
        # The other thread makes its first call, while this one makes a stub.
        if not made_by_the_other:
            made_by_the_other.append(None)
            other = lazy_api(api).transport
            made_by_the_other[:] = other.lookup, other.run_query, other.commit
        return mock.Mock()

    api.transport.grpc_channel.close()
    state["_logged_channel"] = state["_grpc_channel"] = mock.Mock(unary_unary=unary_unary)
    transport: Any = lazy_api(api).transport
    stubs = [transport.lookup, transport.run_query, transport.commit]
    assert stubs == made_by_the_other
    assert all(stub in transport._wrapped_methods for stub in stubs)


def test_an_entity_message_of_any_kind_can_be_converted(client: Client) -> None:
    """helpers.entity_from_protobuf takes proto-plus and upb messages while patched, as always."""
    helpers = datastore.helpers
    message = _result(client).entity
    assert isinstance(message, entity_pb2.Entity)
    stock = helpers.entity_from_protobuf(message)
    lazyentity.patch()
    for given in (message, message._pb):
        entity = helpers.entity_from_protobuf(given)
        assert type(entity) is lazyentity.LazyEntity
        assert describe(entity) == describe(stock)
        with lazyentity.eager():
            eager = helpers.entity_from_protobuf(given)
        assert type(eager) is datastore.Entity
        assert type(eager["inner"]) is datastore.Entity
        assert describe(eager) == describe(stock)


@pytest.mark.parametrize("wrong", [None, 5, "text", b"bytes"], ids=repr)
def test_what_cannot_be_converted_is_refused_as_stock_refuses_it(wrong: Any) -> None:
    """The patched function raises the stock one's error, with the same text."""
    with pytest.raises(AttributeError) as stock:
        datastore.helpers.entity_from_protobuf(wrong)
    lazyentity.patch()
    with pytest.raises(AttributeError) as lazy:
        datastore.helpers.entity_from_protobuf(wrong)
    assert str(lazy.value) == str(stock.value)
