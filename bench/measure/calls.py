"""Whole calls with the garbage collector on, as applications have it: wall and CPU time."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec
from google.cloud.datastore_v1.types import datastore as datastore_types

import lazyentity
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import loopback, sides, verify
from lazyentity.bench.harness.stats import paired_ratio, scaled, summarize
from lazyentity.bench.harness.timing import MILLISECONDS, Budget, Comparison, Context, interleave
from lazyentity.bench.measure.command import Benchmark
from lazyentity.bench.measure.page_results import WholeCall
from lazyentity.bench.subjects import conversion, end_to_end

TASKS = 32
"""The queries that run at once in one process."""

_MIX = synthetic.MIXES["mixed"]


@dataclass(frozen=True)
class Case:
    """A line: what is loaded, and the bounds of its ratios, see `WholeCall`."""

    call: str
    size: str
    load: Callable[[], contextlib.AbstractContextManager[Comparison]]
    goal: float
    cpu_goal: float | None = None
    over: str = "stock"


@contextlib.contextmanager
def over_stub(entities: int, properties: int) -> Iterator[Comparison]:
    """Load a query and, beside the lazy client, gRPC's stub that takes and returns its bytes."""
    with loopback.serving(_MIX.entities(entities, properties), 2) as served:
        bare, lazy = served.clients
        (name,) = synthetic.names_read(_MIX, properties, end_to_end.READ)
        query = {"kind": [{"name": synthetic.KIND}], "limit": entities}
        request = datastore_types.RunQueryRequest(project_id=synthetic.PROJECT, query=query)
        stub = bare._datastore_api.transport.grpc_channel.unary_unary(
            "/google.datastore.v1.Datastore/RunQuery"
        )
        send = functools.partial(stub, datastore_types.RunQueryRequest.serialize(request))
        client = lazyentity.wrap(lazy)

        def read() -> list[object]:
            found = client.query(kind=synthetic.KIND).fetch(limit=entities)
            return [entity[name] for entity in found]

        def check(raw: bytes, values: list[object]) -> None:
            results = datastore_types.RunQueryResponse.pb().FromString(raw).batch.entity_results
            verify.check_same(entities, len(results), "the stub's entities")
            verify.check_same(entities, len(values), "the client's entities")

        yield Comparison({"stub": send, "lazy": read}, check)


@contextlib.contextmanager
def by_literals(properties: int) -> Iterator[Comparison]:
    """Load 4 reads of each entity, by names that are interned as those in source code are."""
    case = decoding.case("mixed", properties, "4")
    names = tuple(map(sys.intern, synthetic.names_read(_MIX, properties, "4")))
    reader = decoding.ByName(plan=(names,) * case.entities)
    yield conversion.comparison(dataclasses.replace(case, reader=reader))


@contextlib.contextmanager
def over_json(records: int) -> Iterator[Comparison]:
    """Load a document and, beside the lazy entity, msgspec's parse of it from JSON."""
    case = decoding.document_case(records)
    raw = msgspec.json.encode([decoding.document_entity(records)])

    def check(objects: object, entities: object) -> None:
        if objects != entities:
            raise verify.OutputMismatch("the document: JSON gave other values than lazy entities")

    tasks = {
        "msgspec": conversion.json_task(case, raw),
        "lazy": conversion.read_task(sides.LAZY, case),
    }
    yield Comparison(tasks, check)


def _read(call: str, entities: int, properties: int, goal: float, cpu: float | None = None) -> Case:
    load = functools.partial(end_to_end.loaded, call, entities, properties)
    return Case(call, f"{entities:,} x {properties}", load, goal, cpu)


def _put(properties: int, goal: float) -> Case:
    load = functools.partial(end_to_end.loaded_write, 100, properties, reads=False)
    return Case("put_multi", f"100 x {properties}", load, goal)


def _models(call: str, goal: float) -> Case:
    def load() -> contextlib.AbstractContextManager[Comparison]:
        from lazyentity.bench.subjects import end_to_end_models

        return end_to_end_models.loaded(call, 300, 10, "1")

    return Case(call, "300 x 10", load, goal)


def _document(records: int, goal: float) -> Case:
    size = f"{decoding.values_of(records):,} values"
    return Case("a document", size, functools.partial(over_json, records), goal, over="msgspec")


CASES = (
    _read("get_multi", 1000, 10, 30),
    _read("get_multi", 1000, 100, 24),
    _read("get", 1, 10, 1.25, 1.45),
    _read("query", 300, 5, 11),
    _read("query", 1000, 10, 25),
    _read("query", 300, 100, 28),
    Case("query", "300 x 100", functools.partial(over_stub, 300, 100), 1.1, 1.6, over="stub"),
    _put(20, 14),
    _put(100, 20),
    _read(end_to_end.WRITE, 300, 100, 22),
    _models("ndb get_multi", 8),
    _models("ndb fetch", 12),
    *(
        Case(
            "4 reads by literals",
            f"{decoding.ENTITIES_A_RESPONSE} x {properties}",
            functools.partial(by_literals, properties),
            goal,
        )
        for properties, goal in ((5, 18), (20, 38), (100, 95))
    ),
    _document(decoding.RECORDS, 1.2),
    _document(437, 1.25),
    Case(
        f"{end_to_end.ASYNCIO_QUERY}, {TASKS} tasks",
        "300 x 5",
        functools.partial(end_to_end.loaded_asyncio, 300, 5, TASKS),
        13,
    ),
)


def _collecting(inner: Context) -> Context:
    """The context ``inner`` with the garbage collector on, the objects of the start included."""

    @contextlib.contextmanager
    def collecting() -> Iterator[None]:
        with inner():
            gc.unfreeze()
            gc.enable()
            try:
                yield
            finally:
                gc.disable()

    return collecting


def measure(case: Case, budget: Budget) -> WholeCall:
    """Time the two sides of a case in turns, by the wall and again by the CPU."""
    is_over_stock = case.over == "stock"
    with case.load() as call:
        tasks = {side: call.tasks[side] for side in (case.over, "lazy")}
        contexts = {
            side: _collecting(call.contexts.get(side, contextlib.nullcontext)) for side in tasks
        }
        timed = [
            interleave(tasks, budget, contexts, clock)
            for clock in (time.perf_counter, time.process_time)
        ]
        for side in call.tasks.keys() - tasks.keys():
            # The check needs what it received.
            call.run(side)
        call.check(timed[-1][case.over].last, timed[-1]["lazy"].last)
    first, second = (case.over, "lazy") if is_over_stock else ("lazy", case.over)
    wall, cpu = (paired_ratio(one[first].seconds, one[second].seconds) for one in timed)
    return WholeCall(
        call=case.call if is_over_stock else f"{case.call}, over {case.over}",
        size=case.size,
        goal=case.goal,
        cpu_goal=case.cpu_goal,
        at_least=is_over_stock,
        lazy=summarize(scaled(timed[0]["lazy"].seconds, MILLISECONDS)),
        wall=wall,
        cpu=cpu,
    )


BENCHMARK = Benchmark(
    lambda run: (measure(case, run.budget) for case in CASES if run.only in case.call),
    Budget(seconds=5, min_rounds=5, max_rounds=200, sample_seconds=0.02),
)
