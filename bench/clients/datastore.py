"""google-cloud-datastore: the conversions of reads and writes, and whole calls over gRPC."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import grpc
from google.cloud import datastore
from google.cloud.datastore import Entity, helpers
from google.cloud.datastore_v1.services.datastore.async_client import DatastoreAsyncClient
from google.cloud.datastore_v1.services.datastore.transports.grpc_asyncio import (
    DatastoreGrpcAsyncIOTransport,
)
from google.cloud.datastore_v1.types import query as query_types

import lazyentity
from lazyentity.bench import loopback, sides, verify
from lazyentity.bench.entities import (
    EAGER,
    KIND,
    MATERIALIZED,
    MIXES,
    PROJECT,
    READS,
    Mix,
    Reader,
    applies,
    names_read,
    reader,
    response_of,
)
from lazyentity.bench.harness import PER_CALL, PER_ENTITY, Case, Comparison, Plan, Task

READ, REWRITE, PUT, CALL = "read", "read, change, write", "new entities", "calls"
"""The sections."""

QUERY, ASYNCIO, WRITE = "query", "asyncio query", "get_multi, put_multi"
ENTITIES = 20
"""In a response whose conversion is timed."""

_QUICK_READS = ("1", "4", "all", "items", EAGER, MATERIALIZED)
_MIXED = MIXES["mixed"]
_CHANGES = ("0", "1", "half", "all")
_MOST_PROPERTIES_PUT = 50_000
_PATCHED = sides.patching()


def cases(plan: Plan) -> Iterator[Case]:
    """The conversions over attribute counts, then calls."""
    reads = _QUICK_READS if plan.mode == "quick" else READS
    for mix, count, read in itertools.product(MIXES, plan.counts, reads):
        if applies(count, read):
            make = functools.partial(synthetic, MIXES[mix], count, read)
            done = read if read in (EAGER, MATERIALIZED) else f"{read} read"
            yield Case(READ, mix, ENTITIES, count, done, PER_ENTITY, make)
    counts = [count for count in plan.counts if count >= ENTITIES]
    for count, change in itertools.product(counts, _CHANGES):
        make = functools.partial(rewriting, count, change)
        yield Case(REWRITE, "mixed", ENTITIES, count, f"{change} changed", PER_ENTITY, make)
    for count in plan.counts:
        entities = min(500, _MOST_PROPERTIES_PUT // count)
        make = functools.partial(putting, entities, count)
        yield Case(PUT, "mixed", entities, count, "put", PER_ENTITY, make)
    for call, entities, count in (
        (QUERY, 300, 100),
        (QUERY, 1000, 10),
        ("eager query", 300, 100),
        ("get", 1, 10),
        ("get_multi", 300, 100),
        ("get_multi", 1000, 10),
    ):
        make = functools.partial(reading, call, entities, count)
        yield Case(CALL, call, entities, count, "1 read", PER_CALL, make)
    make = functools.partial(querying_asyncio, 300, 100)
    yield Case(CALL, ASYNCIO, 300, 100, "1 read", PER_CALL, make)
    for call, entities, count in ((WRITE, 300, 100), ("put_multi", 100, 20)):
        make = functools.partial(writing, entities, count, reads=call == WRITE)
        yield Case(CALL, call, entities, count, "1 changed", PER_CALL, make)


def converting(
    responses: Sequence[bytes], read: Reader, lazy: sides.Side = sides.LAZY
) -> Comparison:
    """Both ways from the bytes of look-ups to entities, some of whose properties are read.

    All properties are compared at once, read or not.
    """

    def task(side: sides.Side) -> Task:
        convert = side.entities

        def decode_and_read() -> list[Entity]:
            entities = [entity for response in responses for entity in convert(response)]
            read(entities)
            return entities

        return decode_and_read

    def check(stock: list[Entity], lazy: list[Entity]) -> None:
        verify.check_same(stock, lazy, "entities")

    return Comparison(task(sides.STOCK), task(lazy), check)


@contextlib.contextmanager
def synthetic(mix: Mix, count: int, read: str) -> Iterator[Comparison]:
    """Give the conversion of entities of a mix, of which ``read`` (of `READS`) is read."""
    names = None if read == "items" else [names_read(mix, count, read)] * ENTITIES
    side = {EAGER: sides.EAGER_SIDE, MATERIALIZED: sides.MATERIALIZED}.get(read, sides.LAZY)
    yield converting([response_of(mix, ENTITIES, count)], reader(names, mix.deep), side)


@contextlib.contextmanager
def rewriting(count: int, changed: str) -> Iterator[Comparison]:
    """Give bytes in, one property read, some changed to values of the same types, bytes out."""
    response = response_of(_MIXED, ENTITIES, count)
    (name,) = names_read(_MIXED, count, "1")
    read = reader([(name,)] * ENTITIES, deep=False)
    names = names_read(_MIXED, count, changed)
    # Entity n gets the values of n + 1, so that every value changes.
    donors = [_MIXED.entity(count, number + 1) for number in range(ENTITIES)]
    changes = [[(name, donor[name]) for name in names] for donor in donors]

    def task(side: sides.Side) -> Task:
        convert = side.entities

        def read_change_and_write() -> list[bytes]:
            entities = convert(response)
            read(entities)
            for entity, values in zip(entities, changes, strict=True):
                for name, value in values:
                    entity[name] = value
            return [sides.to_bytes(entity) for entity in entities]

        return read_change_and_write

    yield Comparison(task(sides.STOCK), task(sides.LAZY), verify.check_messages, _PATCHED)


@contextlib.contextmanager
def putting(entities: int, count: int) -> Iterator[Comparison]:
    """Give entities that user code made in, messages out; only the client's patch differs."""
    made = _MIXED.entities(entities, count)

    def to_messages() -> list[Any]:
        to_protobuf = helpers.entity_to_protobuf
        return list(map(to_protobuf, made))

    def check(stock: Sequence[Any], lazy: Sequence[Any]) -> None:
        verify.check_messages(
            *([one._pb.SerializeToString() for one in of] for of in (stock, lazy))
        )

    yield Comparison(to_messages, to_messages, check, _PATCHED)


def _call(call: str, client: datastore.Client, keys: list[Any]) -> Any:
    if call.endswith(QUERY):
        return client.query(kind=KIND).fetch(limit=len(keys))
    return client.get_multi(keys) if call == "get_multi" else [client.get(key) for key in keys]


@contextlib.contextmanager
def reading(call: str, entities: int, count: int) -> Iterator[Comparison]:
    """Give a stock client and a wrapped one, which read one property of each entity of a server."""
    (name,) = names_read(_MIXED, count, "1")
    with loopback.serving(_MIXED.entities(entities, count), 2) as served:
        stock, other = served.clients
        lazy = lazyentity.wrap(other, eager=call.startswith(EAGER))

        def read(client: datastore.Client) -> Task:
            return lambda: [entity[name] for entity in _call(call, client, served.keys)]

        yield Comparison(read(stock), read(lazy), functools.partial(_check, call, entities))


def _check(where: str, count: int, stock: list[Any], lazy: list[Any]) -> None:
    verify.check_same(count, len(stock), f"{where}: entities")
    verify.check_same(stock, lazy, where)


async def _query(api: Any, limit: int) -> list[Any]:
    """Query as the libraries on this client do: a request, then the conversion."""
    query = query_types.Query(kind=[{"name": KIND}], limit=limit)
    batch = (await api.run_query(request={"project_id": PROJECT, "query": query})).batch
    return [helpers.entity_from_protobuf(result.entity) for result in batch.entity_results]


@contextlib.contextmanager
def querying_asyncio(entities: int, count: int) -> Iterator[Comparison]:
    """Give queries of a generated asyncio client, which both sides use."""
    (name,) = names_read(_MIXED, count, "1")

    async def connect(port: int) -> Any:
        unlimited = [("grpc.max_receive_message_length", -1)]
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=unlimited)
        return DatastoreAsyncClient(transport=DatastoreGrpcAsyncIOTransport(channel=channel))

    with contextlib.ExitStack() as stack:
        served = stack.enter_context(loopback.serving(_MIXED.entities(entities, count)))
        run = stack.enter_context(asyncio.Runner()).get_loop().run_until_complete
        api = run(connect(served.server.grpc_port))
        stack.callback(lambda: run(api.transport.close()))

        def read() -> list[Any]:
            return [entity[name] for entity in run(_query(api, entities))]

        yield Comparison(read, read, functools.partial(_check, ASYNCIO, entities), _PATCHED)


@contextlib.contextmanager
def writing(entities: int, count: int, reads: bool) -> Iterator[Comparison]:
    """Give two clients that change one property of each entity, and put them.

    ``reads`` is whether they read the entities first; else they write entities made by the caller.
    Each side has its entities in a namespace, and returns the change that it made, with which the
    stored entities are compared.
    """
    (name,) = names_read(_MIXED, count, "1")

    def made(side: str) -> list[Entity]:
        entities_of_side = _MIXED.entities(entities, count)
        for entity in entities_of_side:
            entity.key = datastore.Key(*entity.key.flat_path, project=PROJECT, namespace=side)
        return entities_of_side

    with loopback.serving((), 3) as served:
        *clients, other = served.clients
        connected = dict(zip(("stock", "lazy"), clients, strict=True))

        def task(side: str) -> Task:
            client, ours, turns = connected[side], made(side), itertools.count(1)
            keys = loopback.store(other, ours)

            def change_and_write() -> str:
                value = f"change {next(turns)}"
                changed = client.get_multi(keys) if reads else ours
                for entity in changed:
                    entity[name] = value
                client.put_multi(changed)
                return value

            return change_and_write

        def check(*values: str) -> None:
            for side, value in zip(connected, values, strict=True):
                expected = made(side)
                for entity in expected:
                    entity[name] = value
                stored = other.get_multi([entity.key for entity in expected])
                verify.check_messages(*(list(map(sides.to_bytes, of)) for of in (expected, stored)))

        yield Comparison(task("stock"), task("lazy"), check, _PATCHED)
