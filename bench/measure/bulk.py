"""Many keys in few calls: requests and wall time, over gRPC to the loopback server."""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import grpc
from google.cloud import datastore
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport

import lazyentity
from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import loopback, verify
from lazyentity.bench.harness.outcomes import Outcome
from lazyentity.bench.harness.stats import Summary, paired_ratio, summarize
from lazyentity.bench.harness.timing import Budget, Task, interleave
from lazyentity.bench.measure.command import Benchmark, Run
from lazyentity.bench.measure.page_results import Gets, Keys, PageResults
from lazyentity.bulk import coalesce, get_many

KEYS = (1, 100, 1_000, 10_000)
LATENCIES = (0.0, 0.01)
"""Seconds before every answer of the server."""
PROPERTIES = 20
THREADS = 200
GETS = 20
"""Gets of each thread."""

ONE_BY_ONE, GET_MULTI, GET_MANY = "get, one by one", "get_multi of 1,000", "get_many"
WAYS = (ONE_BY_ONE, GET_MULTI, GET_MANY)

_AT_ONCE = 1_000
_ROUNDS = Budget(seconds=5, min_rounds=5, max_rounds=9, sample_seconds=0.0)
_MOST_ONE_BY_ONE = 100
"""So many keys are read one by one in several rounds; more keys once, by the stock client."""

_Client = datastore.Client
_Way = Callable[[_Client, Sequence[datastore.Key]], Any]


def _one_by_one(client: _Client, keys: Sequence[datastore.Key]) -> list[Any]:
    return [client.get(key) for key in keys]


def _get_multi(client: _Client, keys: Sequence[datastore.Key]) -> list[Any]:
    starts = range(0, len(keys), _AT_ONCE)
    return [entity for at in starts for entity in client.get_multi(keys[at : at + _AT_ONCE])]


_WAYS: dict[str, _Way] = {ONE_BY_ONE: _one_by_one, GET_MULTI: _get_multi, GET_MANY: get_many}


class _Counter(grpc.UnaryUnaryClientInterceptor):
    """Counts the requests of a channel."""

    def __init__(self) -> None:
        self.count = 0

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        """Count the request, and send it."""
        self.count += 1
        return continuation(details, request)


@contextlib.contextmanager
def _counting(client: _Client) -> Iterator[_Counter]:
    """Count the requests of a client while inside."""
    counter, api = _Counter(), client._datastore_api
    channel = grpc.intercept_channel(api.transport.grpc_channel, counter)
    client._datastore_api_internal = DatastoreClient(
        transport=DatastoreGrpcTransport(channel=channel)
    )
    yield counter
    client._datastore_api_internal = api


def loaded(latency: float, keys: int) -> AbstractContextManager[loopback.Served]:
    """Start a server, store entities, and connect a stock client."""
    entities = synthetic.MIXES["mixed"].entities(keys, PROPERTIES)
    return loopback.serving(entities, latency=latency)


def measure(client: _Client, keys: Sequence[datastore.Key], latency: float) -> list[Keys]:
    """Time reading all of the keys in each way, with a stock and with a lazy client."""
    sides = {"stock": client, "lazy": lazyentity.wrap(client, eager=False)}
    requests: dict[tuple[str, str], int] = {}
    tasks: dict[str, Task] = {}
    expected = [key.id for key in keys]
    takes_minutes = len(keys) > _MOST_ONE_BY_ONE
    names = {
        f"{way} {side}": (way, side)
        for way in WAYS
        for side in sides
        if not (takes_minutes and way == ONE_BY_ONE and side == "lazy")
    }
    once: dict[str, list[float]] = {}
    for name, (way, side) in names.items():
        read = _WAYS[way]
        began = time.perf_counter()
        with _counting(client) as counter:
            entities = read(sides[side], keys)
        if takes_minutes and way == ONE_BY_ONE:
            once[name] = [time.perf_counter() - began]
        found = [entity.key.id for entity in entities]
        order = sorted if way == GET_MULTI else list
        verify.check_same(order(expected), order(found), f"{name}: keys")
        requests[way, side] = counter.count
        if name not in once:
            tasks[name] = functools.partial(read, sides[side], keys)
    verify.check_same(
        -(-len(keys) // _AT_ONCE), requests.get((GET_MANY, "lazy"), 0), "requests of get_many"
    )
    timed = once | {name: one.seconds for name, one in interleave(tasks, _ROUNDS).items()}
    lines = []
    for name, (way, side) in names.items():
        ours = timed[f"{GET_MANY} {side}"]
        ratio = paired_ratio(timed[name], ours[: len(timed[name])])
        seconds = summarize(timed[name])
        lines.append(Keys(len(keys), latency, way, side, requests[way, side], seconds, ratio))
    return lines


def _throughput(get: Callable[[datastore.Key], Any], keys: Sequence[datastore.Key]) -> float:
    """Gets a second of many threads, each with different keys."""
    barrier = threading.Barrier(THREADS + 1)

    def work(number: int) -> None:
        barrier.wait()
        for turn in range(GETS):
            get(keys[(number * GETS + turn) % len(keys)])

    with ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(work, number) for number in range(THREADS)]
        barrier.wait()
        began = time.perf_counter()
        for future in futures:
            future.result()
        return THREADS * GETS / (time.perf_counter() - began)


def measure_threads(
    client: _Client, keys: Sequence[datastore.Key], rounds: int
) -> tuple[Summary, Summary, Summary]:
    """Gets a second of 200 threads, single and coalesced, and coalesced over single."""
    single, joined = [], []
    coalesced = coalesce(client)
    for _ in range(rounds):
        single.append(_throughput(client.get, keys))
        joined.append(_throughput(coalesced.get, keys))
    return summarize(single), summarize(joined), paired_ratio(joined, single)


def measure_lone(client: _Client, key: datastore.Key, budget: Budget) -> Summary:
    """The time of a coalesced get over that of a single one, in one thread."""
    coalesced = coalesce(client)
    tasks: dict[str, Task] = {
        "single": lambda: client.get(key),
        "coalesced": lambda: coalesced.get(key),
    }
    timed = interleave(tasks, budget)
    return paired_ratio(timed["coalesced"].seconds, timed["single"].seconds)


def goals(measured: PageResults) -> list[Outcome]:
    """Compare a run with the goals: the requests of each line, and the gain with the most keys."""
    outcomes = []
    for line in measured.keys:
        where = f"{line.side} client, {line.keys:,} keys, {line.latency:g} s"
        if line.way == GET_MANY:
            most = math.ceil(line.keys / _AT_ONCE)
            name = f"requests of get_many, {where}"
            outcomes.append(Outcome(name, line.requests, most, at_least=False))
        elif line.way == GET_MULTI and line.keys == KEYS[-1] and line.latency:
            name = f"{line.way} / get_many, {where}"
            outcomes.append(Outcome(name, line.ratio.median, 4, at_least=True))
    return outcomes + [
        Outcome(f"{text}, {line.side} client, {line.latency:g} s", summary.median, bound, at_least)
        for line in measured.gets
        for text, summary, bound, at_least in (
            (f"gets of {line.threads} threads, coalesced / single", line.ratio, 5, True),
            ("a lone get, coalesced / single", line.lone, 1.2, False),
        )
    ]


def _of_latency(latency: float, run: Run) -> Iterator[Keys | Gets]:
    """Measure every way with a server of that latency."""
    counts = [count for count in KEYS if not run.is_quick or count <= _AT_ONCE]
    with loaded(latency, counts[-1]) as served:
        (client,), keys = served.clients, served.keys
        for count in counts:
            yield from measure(client, keys[:count], latency)
        lazy = lazyentity.wrap(client, eager=False)
        for side, one in (("stock", client), ("lazy", lazy)):
            gets = measure_threads(one, keys, 3 if run.is_quick else 9)
            lone = measure_lone(one, keys[0], run.budget)
            yield Gets(THREADS, latency, side, *gets, lone)


BENCHMARK = Benchmark(
    lambda run: (line for latency in LATENCIES for line in _of_latency(latency, run)),
    # Of a lone get; the others have separate budgets.
    Budget(seconds=3, min_rounds=9, max_rounds=99, sample_seconds=0.05),
    goals,
)
