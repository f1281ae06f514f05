"""Reads through the client, over a real gRPC channel to the loopback server in its own process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from google.cloud import datastore
from google.cloud.datastore_v1.types import datastore as datastore_types

import lazyentity
from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import loopback, verify
from lazyentity.bench.harness.lines import EndToEnd
from lazyentity.bench.harness.timing import MILLISECONDS, SIDES, Budget, Comparison, Task, figures
from lazyentity.bench.subjects import floor

READ = "1"
"""The read of each entity, see `synthetic.names_read`."""


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


def _get_multi(client: datastore.Client, keys: list[Any]) -> Any:
    return client.get_multi(keys)


def _get(client: datastore.Client, keys: list[Any]) -> Any:
    found = (client.get(key) for key in keys)
    # The floor finds nothing.
    return [entity for entity in found if entity is not None]


def _count_batch(raw: bytes) -> int:
    return len(datastore_types.RunQueryResponse.pb().FromString(raw).batch.entity_results)


def _count_found(raw: bytes) -> int:
    return len(datastore_types.LookupResponse.pb().FromString(raw).found)


EAGER_QUERY = "eager query"
CALLS = {
    "query": Call(_query, _count_batch),
    "get_multi": Call(_get_multi, _count_found),
    "get": Call(_get, _count_found, one_by_one=True),
    EAGER_QUERY: Call(_query, _count_batch, eager=True),
}


def _task(call: Call, client: datastore.Client, keys: list[Any], name: str) -> Task:
    def fetch_and_read() -> list[Any]:
        return [entity[name] for entity in call.entities(client, keys)]

    return fetch_and_read


@contextlib.contextmanager
def loaded(call_name: str, entities: int, properties: int) -> Iterator[Comparison]:
    """Start a server, load it, and connect three clients: a stock one, a lazy one and the floor.

    The results are checked after the floor ran as well, which must not lack a part of the answer.

    Raises:
        KeyError: there is no such call.
    """
    call = CALLS[call_name]
    mix = synthetic.MIXES["mixed"]
    (name,) = synthetic.names_read(mix, properties, READ)
    with loopback.serving(mix.entities(entities, properties), 3) as served:
        stock, lazy, bare = served.clients
        keys = served.keys
        transport = floor.answer_in_bytes(bare)

        def check(stock_values: list[Any], lazy_values: list[Any]) -> None:
            verify.check_same(entities, len(stock_values), f"{call_name}: entities")
            verify.check_same(stock_values, lazy_values, f"{call_name}: [{name!r}]")
            expected = 1 if call.one_by_one else entities
            verify.check_same(
                expected, call.count(transport.raw), f"{call_name}: the floor's entities"
            )

        yield Comparison(
            tasks={
                "stock": _task(call, stock, keys, name),
                "lazy": _task(call, lazyentity.wrap(lazy, eager=call.eager), keys, name),
                "floor": _task(call, lazyentity.wrap(bare), keys, name),
            },
            check=check,
        )


def measure(call_name: str, entities: int, properties: int, budget: Budget) -> EndToEnd:
    """Time one call of the client that reads ``entities`` entities, one property read of each.

    Raises:
        KeyError: there is no such call.
    """
    with loaded(call_name, entities, properties) as call:
        return timed_reads(call, budget, call_name, entities, properties, READ)


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
