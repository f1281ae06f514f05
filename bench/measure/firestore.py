"""google-cloud-firestore in native mode: queries, look-ups, writes, and the conversions alone."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import time
import unittest.mock
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import methodcaller
from typing import Any

import grpc
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1 import query as query_module
from google.cloud.firestore_v1.types import firestore as types

from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import processes, sides, verify
from lazyentity.bench.harness.outcomes import Outcome
from lazyentity.bench.harness.stats import compared
from lazyentity.bench.harness.timing import MICROSECONDS, SIDES, Budget, Task, figures, interleave
from lazyentity.bench.measure import documents
from lazyentity.bench.measure.command import Benchmark, Run, announced
from lazyentity.bench.measure.page_results import (
    DocumentCase,
    DocumentMemory,
    Documents,
    PageResults,
)
from lazyentity.bench.subjects.memory import resident
from lazyentity.patches.firestore.messages import lazy_request, serialised
from lazyentity.patches.firestore.responses import QueryResponse
from lazyentity.patches.firestore.seams import CLIENT

QUERIED, LOOKED_UP, WRITTEN = 300, 100, 20
"""Documents of a query, of ``get_all()``, and of a round of writes."""

QUERY, ASYNCIO = "query, to_dict()", "AsyncClient, to_dict()"
ONE_FIELD, STREAM = "query, one get()", "query, nothing read"
GET_ALL, GET = "get_all(), to_dict()", "document.get(), to_dict()"
CONVERSION = "bytes to to_dict()"
PREPARATION, SET = "set(), before the RPC", "document.set()"

_READ_LEAST: dict[tuple[str, str, int], float | None] = {
    (CONVERSION, "mixed", 5): 25,
    (CONVERSION, "mixed", 100): 30,
    (CONVERSION, "mixed", 500): 30,
    (CONVERSION, "nested", 20): 25,
    (QUERY, "mixed", 5): 3,
    (QUERY, "mixed", 20): 3,
    (QUERY, "mixed", 100): 6,
    (QUERY, "mixed", 500): 14,
    (QUERY, "nested", 20): None,
    (ONE_FIELD, "mixed", 100): 7,
    (STREAM, "mixed", 100): 7,
    (ASYNCIO, "mixed", 5): None,
    (ASYNCIO, "mixed", 20): None,
    (ASYNCIO, "mixed", 100): 5,
    (ASYNCIO, "mixed", 500): 11,
    (GET_ALL, "mixed", 5): 2,
    (GET_ALL, "mixed", 20): 2.5,
    (GET_ALL, "mixed", 100): 5,
    (GET_ALL, "mixed", 500): 15,
    (GET, "mixed", 5): 1,
    (GET, "mixed", 100): 2,
}
_WRITE_LEAST: dict[tuple[str, str, int], float | None] = {
    (PREPARATION, "mixed", 5): None,
    (PREPARATION, "mixed", 20): 15,
    (PREPARATION, "mixed", 100): 20,
    (PREPARATION, "nested", 100): 40,
    (SET, "mixed", 5): None,
    (SET, "mixed", 20): None,
    (SET, "mixed", 100): None,
    (SET, "nested", 100): None,
}
"""How many times as much stock takes at least, with the native backend; None without a goal.

The cases are a call, and the mix and the number of fields of its documents. With the pure backend,
which spares two copies, conversions take half of the time at most, and nothing is slower.
"""
CASES, WRITES = tuple(_READ_LEAST), tuple(_WRITE_LEAST)

MEMORY = ("mixed", 5), ("mixed", 100), ("nested", 20)
"""The mix and the number of fields of documents whose snapshots are held."""
HELD = 2000
"""Snapshots that a process holds."""

_MOST_HELD = {("mixed", 100): 0.2}
"""The memory of a lazy snapshot over that of a stock one, at most, with the native backend."""

_REQUEST = types.CommitRequest.pb()
_STOCK, _LAZY, _BYTES = *SIDES, "floor"


CONTEXTS = sides.contexts(CLIENT.patch)
"""The contexts in which the sides run."""


Tasks = dict[str, Task]
"""The functions of the sides, and that of gRPC alone where there is one."""


def _both(client: Task, bytes_alone: Task) -> Tasks:
    return {_STOCK: client, _LAZY: client, _BYTES: bytes_alone}


def _count(call: str) -> int:
    """How many documents a call reads or writes."""
    counts = {CONVERSION: LOOKED_UP, GET_ALL: LOOKED_UP, GET: 1, PREPARATION: WRITTEN, SET: WRITTEN}
    return counts.get(call, QUERIED)


_READS: dict[str, Callable[[Any], Any]] = {
    ONE_FIELD: lambda snapshot: snapshot.get("text_000"),
    STREAM: lambda _: None,
}


def converter(side: str, collection_id: str) -> Callable[[bytes], Any]:
    """Return the function of a side that makes a snapshot of a response to a query."""
    collection = _client().collection(collection_id)
    prefix = f"{documents.DOCUMENTS}/{collection_id}"
    kind: Any = types.RunQueryResponse if side == _STOCK else QueryResponse

    def convert(raw: bytes) -> Any:
        # Looked up now, because the patch replaces it.
        to_snapshot = vars(query_module)["_query_response_to_snapshot"]
        return to_snapshot(kind.deserialize(raw), collection, prefix)

    return convert


def _conversion(collection_id: str) -> Tasks:
    """The functions of both sides that convert the responses of a query."""
    raws = [documents.query_response(collection_id, number) for number in range(LOOKED_UP)]

    def converting(side: str) -> Task:
        convert = converter(side, collection_id)
        return lambda: [snapshot.to_dict() for snapshot in map(convert, raws)]

    return {side: converting(side) for side in CONTEXTS}


def _preparation(collection_id: str) -> Tasks:
    """The functions of both sides that make the bytes of a commit: all but the RPC itself."""
    client = _client()
    references = [client.document(documents.path(collection_id, n)) for n in range(WRITTEN)]
    fields = [documents.fields_of(collection_id, number) for number in range(WRITTEN)]
    kind = types.CommitRequest

    def preparing(serialize: Callable[[Any], bytes]) -> Task:
        def prepare() -> list[bytes]:
            made = []
            for reference, each in zip(references, fields, strict=True):
                batch, _ = reference._prep_set(each)
                request, _ = batch._prep_commit(None, None)
                made.append(serialize(request))
            return made

        return prepare

    return {
        # As the API's method commit() does, and the stub that it calls.
        _STOCK: preparing(lambda request: kind.serialize(kind(request))),
        _LAZY: preparing(lambda request: serialised(kind, lazy_request(kind, request))),
    }


def _client(kind: Any = firestore.Client) -> Any:
    return kind(project=synthetic.PROJECT, credentials=AnonymousCredentials())


@contextlib.contextmanager
def _loaded(call: str, collection_id: str, port: int) -> Iterator[Tasks]:
    """Connect a client, if the call needs one; gives the tasks."""
    with contextlib.ExitStack() as stack:
        if call in (CONVERSION, PREPARATION):
            yield (_conversion if call == CONVERSION else _preparation)(collection_id)
        elif call == ASYNCIO:
            yield stack.enter_context(_asyncio_reading(collection_id, port))
        else:
            client = _client()
            stack.callback(lambda: client._firestore_api_internal.transport.close())
            channel = stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{port}"))
            if call == SET:
                yield _setting(client, collection_id, channel)
            else:
                yield _reading(call, client, collection_id, channel)


def _reading(call: str, client: Any, collection_id: str, channel: grpc.Channel) -> Tasks:
    """The functions that query documents, or look them up."""
    read = _READS.get(call, methodcaller("to_dict"))
    paths = [documents.path(collection_id, number) for number in range(_count(call))]
    references = [client.document(path) for path in paths]
    query = client.collection(collection_id).limit(QUERIED)
    method, request = "RunQuery", types.RunQueryRequest(structured_query=query._to_protobuf())
    received: Callable[[], Iterable[Any]] = query.stream
    if call in (GET_ALL, GET):
        names = [f"{documents.DOCUMENTS}/{path}" for path in paths]
        method, request = "BatchGetDocuments", types.BatchGetDocumentsRequest(documents=names)
        received = functools.partial(client.get_all, references)
    if call == GET:
        received = functools.partial(map, methodcaller("get"), references)
    stub: Any = channel.unary_stream(f"/{documents.SERVICE}/{method}")
    raw_request = type(request).serialize(request)
    return _both(lambda: [*map(read, received())], lambda: len(list(stub(raw_request))))


def _setting(client: Any, collection_id: str, channel: grpc.Channel) -> Tasks:
    """The functions that write documents, one in an RPC."""
    pairs = [
        (client.document(documents.path(collection_id, n)), documents.fields_of(collection_id, n))
        for n in range(WRITTEN)
    ]
    raw_requests = _preparation(collection_id)[_STOCK]()
    stub: Any = channel.unary_unary(f"/{documents.SERVICE}/Commit")
    return _both(
        lambda: [reference.set(fields) for reference, fields in pairs],
        lambda: [stub(raw) for raw in raw_requests],
    )


@contextlib.contextmanager
def _asyncio_reading(collection_id: str, port: int) -> Iterator[Tasks]:
    client = _client(firestore.AsyncClient)
    query = client.collection(collection_id).limit(QUERIED)
    request = types.RunQueryRequest.serialize(
        types.RunQueryRequest(structured_query=query._to_protobuf())
    )

    async def connect() -> Any:
        return grpc.aio.insecure_channel(f"127.0.0.1:{port}")

    async def read() -> list[Any]:
        return [snapshot.to_dict() async for snapshot in query.stream()]

    async def receive() -> int:
        return len([raw async for raw in stub(request)])

    with asyncio.Runner() as runner:
        run = runner.get_loop().run_until_complete
        channel = run(connect())
        stub = channel.unary_stream(f"/{documents.SERVICE}/RunQuery")
        yield _both(lambda: run(read()), lambda: run(receive()))
        run(client._firestore_api_internal.transport.close())
        run(channel.close())


def measure(call: str, mix: str, fields: int, port: int, budget: Budget) -> DocumentCase:
    """Time one of `CASES` or of `WRITES`."""
    collection_id = documents.collection(mix, fields)
    host = {"FIRESTORE_EMULATOR_HOST": f"127.0.0.1:{port}"}
    count = _count(call)
    with unittest.mock.patch.dict(os.environ, host), _loaded(call, collection_id, port) as tasks:
        timed = interleave(tasks, budget, CONTEXTS, time.process_time)
    verify.check_same(count, len(timed[_STOCK].last), f"{call}: documents")
    # Serialised requests differ in the order of fields.
    seen: Any = list if call != PREPARATION else lambda raws: [*map(_REQUEST.FromString, raws)]
    verify.check_same(seen(timed[_STOCK].last), seen(timed[_LAZY].last), call)
    each = figures(timed, MICROSECONDS / count, ratio=SIDES)
    return DocumentCase(call=call, mix=mix, fields=fields, **each)


def goals(results: PageResults) -> list[Outcome]:
    """Compare a run with the goals that its backend has for the cases."""
    measured, is_native = results.documents, results.environment.backend == "native"
    if measured is None:
        return []
    bounds = _READ_LEAST | _WRITE_LEAST
    if not is_native:
        bounds = {case: 2 if case[0] == CONVERSION else 1 for case in bounds}
    held = [
        Outcome(f"held, {one.mix} {one.fields}: lazy / stock", one.ratio.median, most, False)
        for one in measured.memory
        for most in (_MOST_HELD.get((one.mix, one.fields)),)
        if most is not None and is_native
    ]
    return held + [
        Outcome(f"{one.call}, {one.mix} {one.fields}: stock / lazy", one.ratio.median, least, True)
        for one in measured.cases
        for least in (bounds.get((one.call, one.mix, one.fields)),)
        if least is not None
    ]


def bytes_per_snapshot(side: str, mix: str, fields: int, count: int = HELD) -> float:
    """The growth of this process for each snapshot that it holds, of which nothing was read."""
    collection_id = documents.collection(mix, fields)
    # A process has only one side: the snapshots of the other one would change its classes.
    with CONTEXTS[side]():
        convert = converter(side, collection_id)
        raws = [documents.query_response(collection_id, number) for number in range(count)]
        # The first ones pay for everything that a process makes once.
        for raw in raws[:50]:
            convert(raw)
        before = resident()
        # Each in its own bytes object, as if off the network.
        held = [convert(bytes(memoryview(raw))) for raw in raws]
        return (resident() - before) / len(held)


def measure_memory(mix: str, fields: int, rounds: int) -> DocumentMemory:
    """Bytes held by a snapshot, by side, each measured from outside in a separate process."""
    held = processes.measure(bytes_per_snapshot, CONTEXTS, rounds, mix, fields)
    raw = documents.query_response(documents.collection(mix, fields), 0)
    return DocumentMemory(
        mix=mix, fields=fields, wire_bytes=len(raw), **compared(held, ratio=("lazy", "stock"))
    )


def _cases(run: Run, cases: Sequence[tuple[str, str, int]]) -> list[DocumentCase]:
    with documents.running() as port:
        made = (measure(*case, port, run.budget) for case in cases if run.only in case[0])
        return list(announced(made))


def _reads(run: Run) -> Iterator[Documents]:
    cases = _cases(run, CASES)
    # Of whole runs.
    memory = (
        [] if run.only else [measure_memory(*shape, 1 if run.is_quick else 3) for shape in MEMORY]
    )
    yield Documents(QUERIED, LOOKED_UP, cases, memory=memory)


def _writes(run: Run) -> Iterator[Documents]:
    yield Documents(QUERIED, LOOKED_UP, _cases(run, WRITES), WRITTEN)


BENCHMARK = Benchmark(
    _reads, Budget(seconds=5, min_rounds=5, max_rounds=200, sample_seconds=0.02), goals
)
WRITING = replace(BENCHMARK, lines=_writes)
