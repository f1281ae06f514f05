"""The generated asyncio client: the same lazy responses, over the connection that it has."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any
from unittest import mock

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.services.datastore.async_client import DatastoreAsyncClient
from google.cloud.datastore_v1.types import datastore as datastore_pb2

import lazyentity
from lazyentity.patches.api.responses import LookupResponse, RunQueryResponse
from tests.patches.conftest import Ports
from tests.patches.order_program import COUNT, KIND
from tests.support.asynchronous import async_api
from tests.support.clients import PROJECT
from tests.support.describing import entity_types
from tests.support.snapshots import snapshot

Api = DatastoreAsyncClient
Scenario = Callable[[Any], Awaitable[Any]]

_CLOSED_PORT = 1


def _key(number: int) -> datastore.Key:
    return datastore.Key(KIND, number, project=PROJECT)


def _lookup_request(*numbers: int) -> dict[str, Any]:
    return {"project_id": PROJECT, "keys": [_key(number).to_protobuf() for number in numbers]}


def _query_request(**options: Any) -> dict[str, Any]:
    query = {"kind": [{"name": KIND}], "order": [{"property": {"name": "__key__"}}], **options}
    return {"project_id": PROJECT, "query": query}


def _entities(results: Any) -> list[Any]:
    return [helpers.entity_from_protobuf(result.entity) for result in results]


async def _lookup(api: Any) -> Any:
    response = await api.lookup(request=_lookup_request(1, 2, 99))
    missing = [helpers.key_from_protobuf(result.entity.key) for result in response.missing]
    return _entities(response.found), missing, len(response.deferred)


async def _query(api: Any) -> Any:
    batch = (await api.run_query(request=_query_request())).batch
    return _entities(batch.entity_results), batch.end_cursor, int(batch.more_results)


async def _found(response: Awaitable[Any]) -> Any:
    return _entities((await response).found)


async def _results(response: Awaitable[Any]) -> Any:
    return _entities((await response).batch.entity_results)


READS: dict[str, Scenario] = {
    "lookup": _lookup,
    "lookup by fields": lambda api: _found(
        api.lookup(project_id=PROJECT, keys=_lookup_request(3)["keys"])
    ),
    "lookup by message": lambda api: _found(
        api.lookup(datastore_pb2.LookupRequest(_lookup_request(1)))
    ),
    "query": _query,
    "query of keys": lambda api: _results(
        api.run_query(_query_request(projection=[{"property": {"name": "__key__"}}]))
    ),
    "query with options": lambda api: _results(
        api.run_query(_query_request(limit=1, offset=1), timeout=60)
    ),
}


def run(ports: Ports, scenario: Scenario) -> Any:
    """Return the result of a scenario with a new client."""

    async def connected() -> Any:
        async with async_api(ports["grpc"]) as api:
            return await scenario(api)

    return asyncio.run(connected())


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("way", ["lazy", "eager()", "patch(eager=True)"])
def test_reads_are_those_of_stock(ports: Ports, read: Scenario, way: str) -> None:
    """Contents, keys, cursors, and what is missing; stock entities where these are asked for."""
    stock = run(ports, read)
    assert entity_types(stock) == {"Entity"}
    lazyentity.patch("datastore", eager=way.startswith("patch"))

    async def inside(api: Any) -> Any:
        with lazyentity.eager() if way == "eager()" else nullcontext():
            return await read(api)

    result = run(ports, inside)
    assert entity_types(result) == {"LazyEntity" if way == "lazy" else "Entity"}
    assert snapshot(_as_lists(result)) == snapshot(_as_lists(stock))


def _as_lists(result: Any) -> Any:
    return list(result) if isinstance(result, tuple) else result


def test_responses_are_not_parsed(ports: Ports) -> None:
    """The responses are the proxies that the blocking client gets."""

    async def read(api: Any) -> Any:
        return await api.lookup(_lookup_request(1)), await api.run_query(_query_request())

    lazyentity.patch("datastore")
    assert list(map(type, run(ports, read))) == [LookupResponse, RunQueryResponse]
    lazyentity.unpatch()
    real = [datastore_pb2.LookupResponse, datastore_pb2.RunQueryResponse]
    assert list(map(type, run(ports, read))) == real


def test_clients_made_before_and_after(ports: Ports) -> None:
    """A client is lazy while the process is patched, whenever it was made."""

    async def read(api: Any) -> set[str]:
        return entity_types(await _query(api))

    async def toggling(early: Any) -> list[set[str]]:
        seen = [await read(early)]
        lazyentity.patch("datastore")
        async with async_api(ports["grpc"]) as late:
            seen += [await read(early), await read(late)]
            lazyentity.unpatch()
            seen += [await read(early), await read(late)]
            lazyentity.patch("datastore")
            return [*seen, await read(early), await read(late)]

    lazy, stock = {"LazyEntity"}, {"Entity"}
    assert run(ports, toggling) == [stock, lazy, lazy, stock, stock, lazy, lazy]


def test_errors_are_stocks(ports: Ports) -> None:
    """A refused request, a server that is not there, and a closed connection."""

    async def refused(api: Any) -> Any:
        return await api.lookup(request={"project_id": PROJECT, "keys": [_partial()]})

    async def unreachable(api: Any) -> Any:
        async with async_api(_CLOSED_PORT) as other:
            return await other.run_query(_query_request(), retry=None)

    async def closed(api: Any) -> Any:
        await api.run_query(_query_request())
        await api.transport.grpc_channel.close()
        return await api.run_query(_query_request())

    async def mistaken(api: Any) -> Any:
        return await api.lookup(request=_lookup_request(1), project_id=PROJECT)

    def _partial() -> Any:
        return datastore.Key(KIND, project=PROJECT).to_protobuf()

    def errors() -> list[Any]:
        raised = []
        for scenario in (refused, unreachable, closed, mistaken):
            with pytest.raises(Exception, match=r".") as caught:
                run(ports, scenario)
            text = "" if scenario is unreachable else str(caught.value)
            raised.append((caught.type, text))
        return raised

    stock = errors()
    assert stock[0][0] is exceptions.InvalidArgument
    lazyentity.patch("datastore")
    assert errors() == stock


def test_writes(ports: Ports) -> None:
    """A lazy entity is written back as it was received; the request is that of stock."""

    async def copy(api: Any) -> Any:
        sent = []
        stub = api.transport.commit
        serialize = stub._request_serializer

        def note(request: Any) -> bytes:
            raw: bytes = serialize(request)
            sent.append(datastore_pb2.CommitRequest.deserialize(raw))
            return raw

        stub._request_serializer = note
        (entity,) = _entities((await api.lookup(_lookup_request(2))).found)
        # The keys of the other tests stay as they are.
        entity.key = datastore.Key("Copied", 2, project=PROJECT)
        entity["number"] += 1
        batch = datastore.Client(project=PROJECT, credentials=AnonymousCredentials()).batch()
        with mock.patch.object(batch, "_commit"):
            batch.begin()
            batch.put(entity)
        response = await api.commit(
            request={
                "project_id": PROJECT,
                "mode": datastore_pb2.CommitRequest.Mode.NON_TRANSACTIONAL,
                "mutations": batch.mutations,
            }
        )
        return sent, len(response.mutation_results)

    stock = run(ports, copy)
    lazyentity.patch("datastore")
    assert run(ports, copy) == stock


class TestLeftAlone:
    """Somebody else's functions in place of the client's own."""

    def test_methods(self, ports: Ports) -> None:
        """A wrapper of a method gets the request of the caller, as from stock."""
        requests: list[Any] = []
        original = DatastoreAsyncClient.lookup

        async def lookup(client: Any, request: Any = None, **kwargs: Any) -> Any:
            requests.append(request)
            return await original(client, request, **kwargs)

        with mock.patch.object(DatastoreAsyncClient, "lookup", lookup):
            lazyentity.patch("datastore")
            found, *_ = run(ports, _lookup)
            lazyentity.unpatch()
        assert requests == [_lookup_request(1, 2, 99)]
        assert entity_types(found) == {"LazyEntity"}

    @pytest.mark.parametrize("method", ["lookup", "run_query"])
    def test_mocks(self, ports: Ports, method: str) -> None:
        """Called as in stock: without the client, unlike a function in a class."""
        mocked = mock.AsyncMock(return_value="answer")

        async def call(api: Any) -> Any:
            return await getattr(api, method)(request={"project_id": PROJECT}, timeout=5)

        with mock.patch.object(DatastoreAsyncClient, method, mocked):
            lazyentity.patch("datastore")
            assert run(ports, call) == "answer"
            lazyentity.unpatch()
        mocked.assert_awaited_once_with(request={"project_id": PROJECT}, timeout=5)

    def test_deserialisers(self, ports: Ports) -> None:
        async def read(api: Any) -> Any:
            api.transport.run_query._response_deserializer = bytes
            return await api.run_query(_query_request())

        lazyentity.patch("datastore")
        raw = run(ports, read)
        assert len(datastore_pb2.RunQueryResponse.deserialize(raw).batch.entity_results) == COUNT

    def test_conversions(self, ports: Ports, monkeypatch: pytest.MonkeyPatch) -> None:
        """They get the messages that they get from stock."""
        given: list[Any] = []
        original: Any = helpers.entity_from_protobuf

        def entity_from_protobuf(message: Any) -> Any:
            given.append(type(message))
            return original(message)

        async def read(api: Any) -> Any:
            given.clear()
            response = await api.run_query(_query_request())
            return type(response), len(_entities(response.batch.entity_results)), list(given)

        def seen() -> Any:
            with monkeypatch.context() as replaced:
                replaced.setattr(helpers, "entity_from_protobuf", entity_from_protobuf)
                return run(ports, read)

        stock = seen()
        assert stock[1] == COUNT
        lazyentity.patch("datastore")
        assert seen() == stock

    @pytest.mark.parametrize("method", ["lookup", "run_query"])
    def test_introspection(self, method: str) -> None:
        """The methods stay coroutine functions with their signatures: mocks are made by these."""
        stock = getattr(DatastoreAsyncClient, method)
        lazyentity.patch("datastore")
        patched = getattr(DatastoreAsyncClient, method)
        assert patched is not stock
        assert inspect.iscoroutinefunction(patched)
        assert inspect.signature(patched) == inspect.signature(stock)
        assert patched.__doc__ == stock.__doc__


def test_rpcs_are_logged_once(ports: Ports, caplog: pytest.LogCaptureFixture) -> None:
    """With the payloads of stock, where the client logs RPCs at all."""

    def payloads() -> list[Any]:
        caplog.clear()
        with caplog.at_level(logging.DEBUG, "google"):
            run(ports, _query)
        return [vars(one)["response"] for one in caplog.records if hasattr(one, "response")]

    stock = payloads()
    lazyentity.patch("datastore")
    assert [one["payload"] for one in payloads()] == [one["payload"] for one in stock]


def test_a_profile_of_tasks(ports: Ports) -> None:
    """Entities count at the line that converts them, in each profile that runs meanwhile."""
    lazyentity.patch("datastore")

    async def read(api: Any) -> tuple[Any, Any]:
        with lazyentity.profile() as outer:
            (found,) = (await api.lookup(_lookup_request(1))).found
            helpers.entity_from_protobuf(found.entity)
            with lazyentity.profile() as inner:
                several = await asyncio.gather(*(_query(api) for _ in range(3)))
                for entity in several[0][0]:
                    entity["number"]
        return outer.report(), inner.report()

    outer, inner = run(ports, read)
    assert [(kind.kind, kind.entities) for kind in outer.kinds] == [(KIND, 3 * COUNT + 1)]
    (kind,) = inner.kinds
    assert (kind.kind, kind.entities, kind.properties_decoded) == (KIND, 3 * COUNT, COUNT)
    (reads,) = inner.received
    assert reads.site.file == __file__
    assert reads.site.line == _entities.__code__.co_firstlineno + 1
    assert len(outer.received) == 2
