"""google-cloud-firestore in native mode: the conversion of documents, and calls over gRPC."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import methodcaller
from typing import Any

from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1 import _helpers, query as query_module
from google.cloud.firestore_v1.types import document as document_types, firestore as types

from lazyentity.bench import loopback, sides, verify
from lazyentity.bench.entities import MIXES, PROJECT
from lazyentity.bench.harness import HELD, PER_CALL, PER_ENTITY, Case, Comparison, Plan, Task
from lazyentity.bench.server.process import LoopbackServer
from lazyentity.patches.firestore.responses import QueryResponse
from lazyentity.patches.firestore.seams import CLIENT

HOST = "FIRESTORE_EMULATOR_HOST"
RunQueryResponse: Any = types.RunQueryResponse
QUERY, ASYNCIO, ONE_FIELD = "query, to_dict()", "AsyncClient, to_dict()", "query, one get()"
GET_ALL, GET, SET = "get_all(), to_dict()", "document.get(), to_dict()", "document.set()"

_CONVERTED = 20
_COLLECTION = "orders"
_DOCUMENTS = f"projects/{PROJECT}/databases/(default)/documents"
_PATCHED = sides.patching(CLIENT.patch)
_CALLS: tuple[tuple[str, str, int, int], ...] = (
    (QUERY, "mixed", 300, 5),
    (QUERY, "mixed", 300, 20),
    (QUERY, "mixed", 300, 100),
    (QUERY, "mixed", 300, 500),
    (QUERY, "nested", 300, 20),
    (ONE_FIELD, "mixed", 300, 100),
    (ASYNCIO, "mixed", 300, 100),
    (GET_ALL, "mixed", 100, 100),
    (GET, "mixed", 1, 100),
    (SET, "mixed", 20, 100),
)
"""A call, the mix of its documents, their number, and the fields of each."""


def cases(plan: Plan) -> Iterator[Case]:
    """The conversion of the responses to a query, then calls."""
    for mix, fields in (
        ("mixed", 5),
        ("mixed", 20),
        ("mixed", 100),
        ("mixed", 500),
        ("nested", 20),
    ):
        make = functools.partial(converting, mix, fields)
        yield Case("documents", mix, _CONVERTED, fields, "to_dict()", PER_ENTITY, make)
    for call, mix, count, fields in _CALLS:
        load = querying_asyncio if call == ASYNCIO else calling
        make = functools.partial(load, call, mix, count, fields)
        done = "written" if call == SET else "1 read" if call == ONE_FIELD else "all read"
        yield Case("calls", f"{call}, {mix}", count, fields, done, PER_CALL, make)
    for write in _WRITES:
        make = functools.partial(committing, write)
        yield Case("writes", write, _CONVERTED, 1, "committed", PER_ENTITY, make)
    for fields in (5, 20, 100, 500):
        make = functools.partial(holding, fields)
        yield Case("memory", "mixed", 100, fields, "one dict", HELD, make)


def fields_of(mix: str, count: int, number: int) -> dict[str, Any]:
    """The fields of a document; its values depend on ``number``."""
    fields: dict[str, Any] = _plain(MIXES[mix].part(count, number * 37))
    return fields


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def make_client(kind: Any = firestore.Client) -> Any:
    """A client without credentials."""
    return kind(project=PROJECT, credentials=AnonymousCredentials())


def response_of(fields: dict[str, Any], number: int) -> bytes:
    """A response to a query, with document ``number`` of the collection."""
    when = MIXES["mixed"].part(5, number)["created_004"]
    document = document_types.Document(
        name=f"{_DOCUMENTS}/{_COLLECTION}/d{number}",
        fields=_helpers.encode_dict(fields),
        create_time=when,
        update_time=when,
    )
    response = RunQueryResponse(document=document, read_time=when)
    raw: bytes = RunQueryResponse.serialize(response)
    return raw


@contextlib.contextmanager
def converting(mix: str, fields: int) -> Iterator[Comparison]:
    """Give the conversion of responses to a query, from bytes to the dicts of all fields."""
    raws = [response_of(fields_of(mix, fields, number), number) for number in range(_CONVERTED)]
    check = functools.partial(verify.check_same, where="documents")
    yield receiving(raws, lambda snapshots: [one.to_dict() for one in snapshots], check)


@contextlib.contextmanager
def holding(fields: int) -> Iterator[Comparison]:
    """Give the conversion of 100 snapshots, which are kept with a dict of each."""
    raws = [response_of(fields_of("mixed", fields, number), number) for number in range(100)]

    def check(stock: list[Any], lazy: list[Any]) -> None:
        verify.check_same([read for _, read in stock], [read for _, read in lazy], "documents")

    yield receiving(raws, lambda snapshots: [(one, one.to_dict()) for one in snapshots], check)


def receiving(
    raws: Sequence[bytes],
    read: Callable[[list[Any]], list[Any]],
    check: Callable[[list[Any], list[Any]], None],
    collection: Any = None,
) -> Comparison:
    """Both ways from responses to a query to snapshots, and to what ``read`` gives of them."""
    collection = collection or make_client().collection(_COLLECTION)
    parent, _ = collection._parent_info()
    prefix = f"{parent}/{collection.id}"

    def task(kind: Any) -> Task:
        def convert() -> list[Any]:
            # Looked up now, because the patch replaces it.
            to_snapshot = vars(query_module)["_query_response_to_snapshot"]
            snapshots = [to_snapshot(kind.deserialize(raw), collection, prefix) for raw in raws]
            return read(snapshots)

        return convert

    return Comparison(task(RunQueryResponse), task(QueryResponse), check, _PATCHED)


@contextlib.contextmanager
def _serving(mix: str, count: int, fields: int) -> Iterator[list[tuple[Any, dict[str, Any]]]]:
    """Start a server, store documents, and have clients find it; gives references and fields."""
    with LoopbackServer(firestore=True) as server, loopback.found(server.grpc_port, HOST):
        client = make_client()
        made = [
            (client.collection(_COLLECTION).document(f"d{n}"), fields_of(mix, fields, n))
            for n in range(count)
        ]
        for reference, values in made:
            reference.set(values)
        yield made
        client._firestore_api_internal.transport.close()


_WRITES: dict[str, Callable[[Any, Any], None]] = {
    "set(), a transform": lambda batch, to: batch.set(to, {"a": firestore.SERVER_TIMESTAMP}),
    "set(merge=True), a transform": lambda batch, to: batch.set(
        to, {"a": firestore.SERVER_TIMESTAMP}, merge=True
    ),
    "update(), a transform": lambda batch, to: batch.update(to, {"a": firestore.Increment(1)}),
    "update(), ArrayUnion": lambda batch, to: batch.update(to, {"a": firestore.ArrayUnion([1])}),
    "update(), DELETE_FIELD": lambda batch, to: batch.update(to, {"a": firestore.DELETE_FIELD}),
    "update(), a quoted path": lambda batch, to: batch.update(to, {"`a-b`": 1}),
    "set(), an OrderedDict": lambda batch, to: batch.set(to, OrderedDict(a=1)),
}
"""The writes that the client's code encodes, and that are to be no slower."""


@contextlib.contextmanager
def committing(write: str) -> Iterator[Comparison]:
    """Give batches of writes, which both sides send to a server."""
    with _serving("mixed", _CONVERTED, 1) as stored:
        client = stored[0][0]._client

        def task() -> list[Any]:
            batch = client.batch()
            for reference, _ in stored:
                _WRITES[write](batch, reference)
            made = list(batch._write_pbs)
            batch.commit()
            return made

        def check(stock: list[Any], lazy: list[Any]) -> None:
            made, lazy_made = ([type(one).pb(one) for one in of] for of in (stock, lazy))
            verify.check_same(made, lazy_made, write)

        yield Comparison(task, task, check, _PATCHED)


_READS: dict[str, Callable[[Any], Any]] = {ONE_FIELD: lambda snapshot: snapshot.get("text_000")}


@contextlib.contextmanager
def calling(call: str, mix: str, count: int, fields: int) -> Iterator[Comparison]:
    """Give a call of a client, which both sides use."""
    with _serving(mix, count, fields) as stored:
        references = [reference for reference, _ in stored]
        client = references[0]._client
        read = _READS.get(call, methodcaller("to_dict"))
        received: dict[str, Callable[[], Iterable[Any]]] = {
            GET_ALL: functools.partial(client.get_all, references),
            GET: lambda: (reference.get() for reference in references),
        }
        receive = received.get(call, client.collection(_COLLECTION).limit(count).stream)

        def reading() -> list[Any]:
            return [read(snapshot) for snapshot in receive()]

        def setting() -> list[Any]:
            return [type(reference.set(values)) for reference, values in stored]

        def check(stock: list[Any], lazy: list[Any]) -> None:
            verify.check_same(count, len(stock), call)
            verify.check_same(stock, lazy, call)
            for snapshot, (_, values) in zip(client.get_all(references), stored, strict=True):
                if call == SET:
                    verify.check_same(sorted(values), sorted(snapshot.to_dict()), call)

        task = setting if call == SET else reading
        yield Comparison(task, task, check, _PATCHED)


@contextlib.contextmanager
def querying_asyncio(call: str, mix: str, count: int, fields: int) -> Iterator[Comparison]:
    """Give a query of the asyncio client, which both sides use."""
    with _serving(mix, count, fields), asyncio.Runner() as runner:
        run = runner.get_loop().run_until_complete
        client = make_client(firestore.AsyncClient)
        query = client.collection(_COLLECTION).limit(count)

        async def read() -> list[Any]:
            return [snapshot.to_dict() async for snapshot in query.stream()]

        def check(stock: list[Any], lazy: list[Any]) -> None:
            verify.check_same(count, len(stock), call)
            verify.check_same(stock, lazy, call)

        yield Comparison(lambda: run(read()), lambda: run(read()), check, _PATCHED)
        run(client._firestore_api_internal.transport.close())
