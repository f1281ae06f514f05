"""Calls through the client, over a real gRPC channel to the loopback server in its own process.

The floor of a read is the lazy client's own path, ending in undecoded bytes. Everything is the lazy
client's own (request building, retries, timeouts, the channel, paging), except that the response
deserialiser keeps the bytes as they came. No decoder can be faster.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import grpc
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.services.datastore.async_client import DatastoreAsyncClient
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport
from google.cloud.datastore_v1.services.datastore.transports.grpc_asyncio import (
    DatastoreGrpcAsyncIOTransport,
)
from google.cloud.datastore_v1.types import datastore as datastore_types
from google.cloud.datastore_v1.types import query as query_types

import lazyentity
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import loopback, sides, verify
from lazyentity.bench.harness.lines import EndToEnd
from lazyentity.bench.harness.timing import MILLISECONDS, SIDES, Budget, Comparison, Task, figures
from lazyentity.patches.api.requests import serialiser
from lazyentity.patches.api.transports import LazyDatastoreClient

READ = "1"
"""The read of each entity, see `synthetic.names_read`."""
EAGER_QUERY = "eager query"
ASYNCIO_QUERY = "asyncio query"
WRITE = "get_multi, put_multi"

_MIX = synthetic.MIXES["mixed"]
_MORE = query_types.QueryResultBatch.MoreResultsType

# The parts of a response that the client reads, as in a complete response that found nothing.
# Without any answer the client would stop halfway.
_NOTHING_FOUND = SimpleNamespace(
    found=(),
    missing=(),
    deferred=(),
    transaction=b"",
    explain_metrics=None,
    batch=SimpleNamespace(
        entity_results=(),
        skipped_results=0,
        end_cursor=b"",
        more_results=_MORE.NO_MORE_RESULTS,
    ),
)


class BytesTransport(DatastoreGrpcTransport):
    """The client's transport, whose reading calls end in bytes: ``raw`` has the last ones."""

    raw: bytes = b""

    def _keep(self, raw: bytes) -> Any:
        self.raw = raw
        return _NOTHING_FOUND

    def _stub(self, method: str, serialize: Callable[[Any], bytes]) -> Any:
        if method not in self._stubs:
            # The channel with the logging interceptor came with google-cloud-datastore 2.21.
            channel = getattr(self, "_logged_channel", self.grpc_channel)
            self._stubs[method] = channel.unary_unary(
                f"/google.datastore.v1.Datastore/{method}",
                request_serializer=serialiser(serialize),
                response_deserializer=self._keep,
            )
        return self._stubs[method]

    @property
    def lookup(self) -> Any:
        """The Lookup call."""
        return self._stub("Lookup", datastore_types.LookupRequest.serialize)

    @property
    def run_query(self) -> Any:
        """The RunQuery call."""
        return self._stub("RunQuery", datastore_types.RunQueryRequest.serialize)


def answer_in_bytes(client: datastore.Client) -> BytesTransport:
    """Give ``client``, which uses gRPC, a transport that decodes nothing, and return the transport.

    The client's reads go out as a patched client's do, and find nothing.
    """
    transport = BytesTransport(channel=client._datastore_api.transport.grpc_channel)
    client._datastore_api_internal = LazyDatastoreClient(
        transport=transport, client_info=client._client_info
    )
    return transport


@dataclass(frozen=True)
class Call:
    """A read of the client, and a counter of the entities in its serialised response.

    ``eager`` is whether the lazy client gives stock entities, decoded as a whole; ``one_by_one``,
    whether each entity has its own response.
    """

    entities: Callable[[datastore.Client, list[Any]], Any]
    count: Callable[[bytes], int]
    eager: bool = False
    one_by_one: bool = False


def _query(client: datastore.Client, keys: list[Any]) -> Any:
    return client.query(kind=synthetic.KIND).fetch(limit=len(keys))


def _get(client: datastore.Client, keys: list[Any]) -> Any:
    found = (client.get(key) for key in keys)
    # The floor finds nothing.
    return [entity for entity in found if entity is not None]


def _count_batch(raw: bytes) -> int:
    return len(datastore_types.RunQueryResponse.pb().FromString(raw).batch.entity_results)


def _count_found(raw: bytes) -> int:
    return len(decoding.entities_of(raw))


CALLS = {
    "query": Call(_query, _count_batch),
    "get_multi": Call(lambda client, keys: client.get_multi(keys), _count_found),
    "get": Call(_get, _count_found, one_by_one=True),
    EAGER_QUERY: Call(_query, _count_batch, eager=True),
}
"""The reads that have a floor."""


def loaded(call: str, entities: int, properties: int) -> AbstractContextManager[Comparison]:
    """Start a server, load it, and connect the clients of a call: a read, or a change and a write.

    Args:
        call: one of `CALLS`, `ASYNCIO_QUERY` or `WRITE`.
        entities: their number.
        properties: of each, of which one is read or changed.
    """
    others = {ASYNCIO_QUERY: loaded_asyncio, WRITE: loaded_write}
    if call in others:
        return others[call](entities, properties)
    return _loaded_read(call, CALLS[call], entities, properties)


def _check_read(where: str, count: int, name: str, stock: list[Any], lazy: list[Any]) -> None:
    verify.check_same(count, len(stock), f"{where}: entities")
    verify.check_same(stock, lazy, f"{where}: [{name!r}]")


@contextlib.contextmanager
def _loaded_read(
    call_name: str, call: Call, entities: int, properties: int
) -> Iterator[Comparison]:
    """Connect three clients: a stock one, a lazy one and the floor.

    The results are checked after the floor ran as well, which must not lack a part of the answer.
    """
    (name,) = synthetic.names_read(_MIX, properties, READ)
    with loopback.serving(_MIX.entities(entities, properties), 3) as served:
        stock, lazy, bare = served.clients
        transport = answer_in_bytes(bare)

        def reading(client: datastore.Client) -> Task:
            return lambda: [entity[name] for entity in call.entities(client, served.keys)]

        def check(stock_values: list[Any], lazy_values: list[Any]) -> None:
            _check_read(call_name, entities, name, stock_values, lazy_values)
            expected = 1 if call.one_by_one else entities
            carried = call.count(transport.raw)
            verify.check_same(expected, carried, f"{call_name}: the floor's entities")

        clients = {
            "stock": stock,
            "lazy": lazyentity.wrap(lazy, eager=call.eager),
            "floor": lazyentity.wrap(bare),
        }
        yield Comparison({side: reading(client) for side, client in clients.items()}, check)


async def _asyncio_query(api: Any, limit: int) -> list[Any]:
    """Query as the libraries on this client do: a request for each page, then the conversion."""
    entities: list[Any] = []
    cursor = b""
    while True:
        query = query_types.Query(
            kind=[{"name": synthetic.KIND}], limit=limit - len(entities), start_cursor=cursor
        )
        # A dict with a message in it, as the client's own iterators send it.
        request = {"project_id": synthetic.PROJECT, "query": query}
        batch = (await api.run_query(request=request)).batch
        entities += [helpers.entity_from_protobuf(result.entity) for result in batch.entity_results]
        if batch.more_results != _MORE.NOT_FINISHED:
            return entities
        cursor = batch.end_cursor


async def _connect(port: int) -> Any:
    channel = grpc.aio.insecure_channel(
        f"127.0.0.1:{port}", options=[("grpc.max_receive_message_length", -1)]
    )
    return DatastoreAsyncClient(transport=DatastoreGrpcAsyncIOTransport(channel=channel))


@contextlib.contextmanager
def loaded_asyncio(entities: int, properties: int, tasks: int = 1) -> Iterator[Comparison]:
    """Connect a generated asyncio client, which both sides use; ``tasks`` queries run at once."""
    (name,) = synthetic.names_read(_MIX, properties, READ)
    with contextlib.ExitStack() as stack:
        served = stack.enter_context(loopback.serving(_MIX.entities(entities, properties)))
        run = stack.enter_context(asyncio.Runner()).get_loop().run_until_complete
        api = run(_connect(served.server.grpc_port))
        stack.callback(lambda: run(api.transport.close()))

        async def read() -> list[Any]:
            every = await asyncio.gather(*(_asyncio_query(api, entities) for _ in range(tasks)))
            return [entity[name] for one in every for entity in one]

        def check(stock: list[Any], lazy: list[Any]) -> None:
            _check_read(ASYNCIO_QUERY, tasks * entities, name, stock, lazy)

        both = dict.fromkeys(SIDES, lambda: run(read()))
        yield Comparison(both, check, sides.CONTEXTS)


@contextlib.contextmanager
def loaded_write(entities: int, properties: int, reads: bool = True) -> Iterator[Comparison]:
    """Connect two clients that change one property of each entity, and put them; without a floor.

    ``reads`` is whether they read the entities first; else they write entities made by the caller.

    Each side has separate entities, in a separate namespace, and returns the changes that it made,
    with which the stored entities are compared.
    """
    (name,) = synthetic.names_read(_MIX, properties, "1")

    def stored(side: str) -> list[datastore.Entity]:
        made = _MIX.entities(entities, properties)
        for entity in made:
            entity.key = datastore.Key(
                *entity.key.flat_path, project=synthetic.PROJECT, namespace=side
            )
        return made

    with loopback.serving((), 3, trusting=True) as served:
        *connected, bare = served.clients
        clients = dict(zip(SIDES, connected, strict=True))
        keys = {side: loopback.store(bare, stored(side)) for side in SIDES}
        transport = answer_in_bytes(bare)

        def writing(side: str) -> Task:
            turns, client, ours = itertools.count(1), clients[side], stored(side)

            def change_and_write() -> str:
                value = f"change {next(turns)}"
                changed = client.get_multi(keys[side]) if reads else ours
                for entity in changed:
                    entity[name] = value
                client.put_multi(changed)
                return value

            return change_and_write

        def check(*values: str) -> None:
            for side, value in zip(SIDES, values, strict=True):
                expected = stored(side)
                for entity in expected:
                    entity[name] = value
                bare.get_multi(keys[side])
                verify.check_messages(
                    [sides.to_bytes(entity) for entity in expected],
                    decoding.entities_of(transport.raw),
                )

        yield Comparison({side: writing(side) for side in SIDES}, check, sides.CONTEXTS)


def measure(call_name: str, entities: int, properties: int, budget: Budget) -> EndToEnd:
    """Time one call of :func:`loaded`."""
    read, changed = ("0", 1) if call_name == WRITE else (READ, 0)
    with loaded(call_name, entities, properties) as call:
        return timed_reads(call, budget, call_name, entities, properties, read, changed)


def timed_reads(
    call: Comparison,
    budget: Budget,
    call_name: str,
    entities: int,
    properties: int,
    read: str,
    changed: int = 0,
) -> EndToEnd:
    """Time the sides of a call that reads ``read`` of each entity, the floor among them or not.

    ``changed`` is how many properties of each it changes and writes.
    """
    timed = call.timed(budget)
    over_floor = {"over_floor": ("lazy", "floor")} if "floor" in timed else {}
    return EndToEnd(
        call=call_name,
        entities=entities,
        properties=properties,
        read=read,
        changed=changed,
        **figures(timed, MILLISECONDS, ratio=SIDES, **over_floor),
    )
