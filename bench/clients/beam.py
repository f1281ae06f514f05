"""Apache Beam's connector: its DoFn that reads, the coder of its elements, a whole pipeline."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import apache_beam
from apache_beam import coders
from apache_beam.io.gcp.datastore.v1new import datastoreio, helper, types

from lazyentity.bench import loopback, sides, verify
from lazyentity.bench.entities import KIND, MIXES, PROJECT, names_read
from lazyentity.bench.harness import PER_CALL, PER_ENTITY, Case, Comparison, Plan, Task
from lazyentity.patches.beam.coders import ElementCoder
from lazyentity.patches.beam.seams import CLIENT

READ, CODER, PIPELINE = "_QueryFn", "coder, encode and decode", "pipeline, filter and count"

_MIX = MIXES["mixed"]
_PATCHED = sides.patching(CLIENT.patch)


def cases(plan: Plan) -> Iterator[Case]:
    """Each case reads one property of each entity; the coder reads none."""
    for name, read, unit in (
        (READ, 1, PER_ENTITY),
        (CODER, 0, PER_ENTITY),
        (PIPELINE, 1, PER_CALL),
    ):
        make = functools.partial(running, name, 300, 100)
        yield Case("calls", name, 300, 100, f"{read} read", unit, make)


def _query() -> Any:
    return types.Query(KIND, PROJECT)


def _fetched() -> list[Any]:
    # Looked up now, because the patch replaces it.
    return list(datastoreio.ReadFromDatastore._QueryFn().process(_query()))


def _coding(coder: Any, elements: list[Any]) -> Task:
    encode, decode = coder.encode, coder.decode
    return lambda: [decode(encode(element)) for element in elements]


_counted: list[int] = []


def _remember(count: int) -> None:
    _counted.append(count)


def _count_chosen(name: str) -> list[int]:
    """Run a pipeline that counts the entities with a property that is not false."""
    _counted.clear()
    with apache_beam.Pipeline("DirectRunner") as pipeline:
        (
            pipeline
            | datastoreio.ReadFromDatastore(_query(), num_splits=1)
            | apache_beam.Filter(lambda element: element.properties[name])
            | apache_beam.combiners.Count.Globally()
            | apache_beam.Map(_remember)
        )
    return list(_counted)


def _contents(results: list[Any]) -> list[Any]:
    return [
        [element.key.path_elements, sorted(element.exclude_from_indexes), dict(element.properties)]
        if isinstance(element, types.Entity)
        else element
        for element in results
    ]


def _tasks(case: str, name: str) -> tuple[Task, Task]:
    if case == CODER:
        stock = _coding(coders.FastPrimitivesCoder(), _fetched())
        with _PATCHED():
            return stock, _coding(ElementCoder(), _fetched())
    if case == PIPELINE:
        task = functools.partial(_count_chosen, name)
        return task, task

    def read() -> list[Any]:
        return [element.properties[name] for element in _fetched()]

    return read, read


@contextlib.contextmanager
def running(case: str, entities: int, properties: int) -> Iterator[Comparison]:
    """Start a server that the connector finds, and give the ways of a case."""
    (name,) = names_read(_MIX, properties, "1")

    def check(stock: list[Any], lazy: list[Any]) -> None:
        verify.check_same(_contents(stock), _contents(lazy), case)

    with loopback.serving(_MIX.entities(entities, properties)) as served:
        # The helper keeps its clients.
        helper.get_client.cache_clear()
        with loopback.found(served.server.grpc_port):
            yield Comparison(*_tasks(case, name), check, _PATCHED)
        helper.get_client.cache_clear()
