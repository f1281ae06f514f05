"""A table of a few properties: ``to_pandas()`` next to a ``DataFrame`` of all the entities."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pandas
from google.cloud import datastore

import lazyentity
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import loopback, sides, verify
from lazyentity.bench.harness.lines import Columns
from lazyentity.bench.harness.timing import MILLISECONDS, Budget, Task, figures, interleave
from lazyentity.bench.subjects.columns_memory import PROPERTIES, names

ENTITIES = 200

CONVERSION, QUERY = "bytes of a response", "a query over loopback gRPC"
SOURCES = (CONVERSION, QUERY)

_Entities = Iterable[datastore.Entity]


@contextlib.contextmanager
def _source(source: str) -> Iterator[dict[str, Callable[[], _Entities]]]:
    """Give functions that return the entities of both sides."""
    if source == CONVERSION:
        (response,) = decoding.case("mixed", PROPERTIES, "0", ENTITIES, ENTITIES).responses
        yield {
            "stock": lambda: sides.STOCK.entities(response),
            "lazy": lambda: sides.LAZY.entities(response),
        }
        return
    mix = synthetic.MIXES["mixed"]
    with loopback.serving(mix.entities(ENTITIES, PROPERTIES)) as served:
        (client,) = served.clients
        wrapped = lazyentity.wrap(client)
        yield {
            "stock": lambda: client.query(kind=synthetic.KIND).fetch(),
            "lazy": lambda: wrapped.query(kind=synthetic.KIND).fetch(),
        }


def _tasks(entities: dict[str, Callable[[], _Entities]]) -> dict[str, Task]:
    wanted = names()
    stock, lazy = entities["stock"], entities["lazy"]
    return {
        "stock": lambda: pandas.DataFrame(list(stock())),
        "lazy": lambda: pandas.DataFrame(list(lazy())),
        "columns": lambda: lazyentity.to_pandas(lazy(), wanted),
        "lists": lambda: lazyentity.columns(lazy(), wanted),
        "entities_alone": lambda: list(lazy()),
    }


def measure(source: str, budget: Budget) -> Columns:
    """Time the ways to a table of six of sixty properties of 200 entities."""
    wanted = names()
    with _source(source) as entities:
        timed = interleave(_tasks(entities), budget)
    expected: Any = timed["stock"].last
    for name in wanted:
        column = list(expected[name])
        verify.check_same(column, list(timed["lazy"].last[name]), f"lazy, {name}")
        verify.check_same(column, list(timed["columns"].last[name]), f"to_pandas(), {name}")
        verify.check_same(len(column), len(timed["lists"].last[name]), f"columns(), {name}")
    verify.check_same(ENTITIES, len(timed["entities_alone"].last), "entities alone")
    return Columns(
        source=source,
        entities=ENTITIES,
        properties=PROPERTIES,
        names=len(wanted),
        **figures(timed, MILLISECONDS, ratio=("stock", "columns"), over_lazy=("lazy", "columns")),
    )
