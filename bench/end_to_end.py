"""Reads through the client, over a real gRPC channel to the loopback server in its own process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from google.cloud import datastore
from google.cloud.datastore_v1.types import datastore as datastore_types

import lazyentity
from lazyentity.bench import cases, floor, loopback, verify
from lazyentity.bench.results import EndToEnd
from lazyentity.bench.server.process import LoopbackServer
from lazyentity.bench.stats import paired_ratio, scaled, summarize
from lazyentity.bench.timing import Budget, Task, interleave

_MILLISECONDS = 1e3
_READ = "1"


@dataclass(frozen=True)
class Call:
    """A read of the client, and how many entities a serialised response of it holds."""

    entities: Callable[[datastore.Client, list[Any]], Any]
    count: Callable[[bytes], int]


def _query(client: datastore.Client, keys: list[Any]) -> Any:
    return client.query(kind=cases.KIND).fetch(limit=len(keys))


def _get_multi(client: datastore.Client, keys: list[Any]) -> Any:
    return client.get_multi(keys)


def _count_batch(raw: bytes) -> int:
    return len(datastore_types.RunQueryResponse.pb().FromString(raw).batch.entity_results)


def _count_found(raw: bytes) -> int:
    return len(datastore_types.LookupResponse.pb().FromString(raw).found)


CALLS = {"query": Call(_query, _count_batch), "get_multi": Call(_get_multi, _count_found)}


def _task(call: Call, client: datastore.Client, keys: list[Any], name: str) -> Task:
    def fetch_and_read() -> list[Any]:
        return [entity[name] for entity in call.entities(client, keys)]

    return fetch_and_read


@dataclass(frozen=True)
class Loaded:
    """The three sides of a call, ready to run, and the comparison of what they gave."""

    tasks: dict[str, Task]
    check: Callable[[list[Any], list[Any]], None]


@contextlib.contextmanager
def loaded(call_name: str, entities: int, properties: int) -> Iterator[Loaded]:
    """Start a server, load it, and connect three clients: a stock one, a lazy one and the floor.

    ``check`` takes what the stock and the lazy task returned, after the floor ran as well, and
    raises `verify.OutputMismatch` if they differ or the floor did not carry the whole answer.

    Raises:
        KeyError: there is no such call.
    """
    call = CALLS[call_name]
    mix = cases.MIXES["mixed"]
    (name,) = cases.names_read(mix, properties, _READ)
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(LoopbackServer()).grpc_port
        stock, lazy, bare = (stack.enter_context(loopback.client(port)) for _ in range(3))
        stored = [mix.entity(properties, number) for number in range(entities)]
        keys = loopback.store(stock, stored)
        transport = floor.answer_in_bytes(bare)

        def check(stock_values: list[Any], lazy_values: list[Any]) -> None:
            verify.check_same(entities, len(stock_values), f"{call_name}: entities")
            verify.check_same(stock_values, lazy_values, f"{call_name}: [{name!r}]")
            verify.check_same(
                entities, call.count(transport.raw), f"{call_name}: the floor's entities"
            )

        yield Loaded(
            tasks={
                "stock": _task(call, stock, keys, name),
                "lazy": _task(call, lazyentity.wrap(lazy), keys, name),
                "floor": _task(call, bare, keys, name),
            },
            check=check,
        )


def measure(call_name: str, entities: int, properties: int, budget: Budget) -> EndToEnd:
    """Time one call of the client that reads ``entities`` entities, one property read of each.

    Raises:
        verify.OutputMismatch: the sides differ, or the floor did not carry the whole answer.
        KeyError: there is no such call.
    """
    with loaded(call_name, entities, properties) as sides:
        timed = interleave(sides.tasks, budget)
        sides.check(timed["stock"].last, timed["lazy"].last)
    seconds = {side: track.seconds for side, track in timed.items()}
    wall = {side: summarize(scaled(taken, _MILLISECONDS)) for side, taken in seconds.items()}
    return EndToEnd(
        call=call_name,
        entities=entities,
        properties=properties,
        read=_READ,
        stock=wall["stock"],
        lazy=wall["lazy"],
        floor=wall["floor"],
        ratio=paired_ratio(seconds["stock"], seconds["lazy"]),
        over_floor=paired_ratio(seconds["lazy"], seconds["floor"]),
    )
