"""A cold start from a snapshot, against the same entities as pickles, JSON lines and from a server.

Each side reads in its own process, whose imports are not timed.
"""

from __future__ import annotations

import base64
import pickle
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
from google.cloud.datastore import Entity, Key

import lazyentity
from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import loopback, processes
from lazyentity.bench.harness.outcomes import Outcome
from lazyentity.bench.harness.stats import paired_ratio, summarize
from lazyentity.bench.harness.timing import Budget
from lazyentity.bench.measure.command import Benchmark, Run
from lazyentity.bench.measure.page_results import Form, Forms, PageResults
from lazyentity.bulk import get_many, put_many
from lazyentity.snapshot import Snapshot

ENTITIES, PROPERTIES = 100_000, 100
FEW = 1_000
"""Entities of a quick run."""
IDENTICAL = 0.3
"""The share of the entities that have the content of another entity."""

SNAPSHOT, PICKLE, JSON, SERVER = "snapshot", "pickle", "json lines", "server"
FIRST, ALL = "first", "all"
"""The ends of a read: after the first entity, and after 4 properties of all entities."""

_MIX = synthetic.MIXES["mixed"]


def entities(count: int, properties: int) -> Iterator[Entity]:
    """Yield stock entities, some of which have the content of other entities."""
    different = round(count * (1 - IDENTICAL))
    for number in range(count):
        entity = _MIX.entity(properties, number % different)
        entity.key = _key(number)
        yield entity


def _key(number: int) -> Key:
    return Key(synthetic.KIND, number + 1, project=synthetic.PROJECT)


def _plain(value: Any) -> Any:
    # orjson itself does not write bytes.
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(type(value).__name__)


def _write_json(path: Path, written: Iterable[Entity]) -> None:
    with path.open("wb") as file:
        for entity in written:
            row = {"key": entity.key.id, **entity}
            file.write(orjson.dumps(row, default=_plain) + b"\n")


def _write_pickle(path: Path, written: Iterable[Entity]) -> None:
    with path.open("wb") as file:
        pickle.dump(list(written), file, pickle.HIGHEST_PROTOCOL)


def _read_pickle(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        yield from pickle.load(file)  # noqa: S301  # written by this benchmark


def _read_json(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        yield from map(orjson.loads, file)


def _read_server(port: int, count: int) -> Iterator[Any]:
    with loopback.client(port) as client:
        yield from get_many(lazyentity.wrap(client, eager=False), map(_key, range(count)))


def read(side: str, where: str, count: int, properties: int, until: str) -> float:
    """Seconds until a side has read up to ``until``.

    Args:
        side: one of the above.
        where: the file, or the port of the server.
        count: of the entities.
        properties: of each entity.
        until: `FIRST` or `ALL`.
    """
    names = synthetic.names_read(_MIX, properties, "4")
    readers: dict[str, Callable[[], Iterable[Any]]] = {
        SNAPSHOT: lambda: Snapshot(where),
        PICKLE: lambda: _read_pickle(Path(where)),
        JSON: lambda: _read_json(Path(where)),
        SERVER: lambda: _read_server(int(where), count),
    }
    began = time.perf_counter()
    found = 0
    for entity in readers[side]():
        for name in names:
            entity[name]
        if until == FIRST:
            return time.perf_counter() - began
        found += 1
    seconds = time.perf_counter() - began
    if found != count:
        raise ValueError(f"{side} has {found} entities, not {count}")
    return seconds


def measure(count: int, properties: int, rounds: int) -> Forms:
    """Write all forms, and read them."""
    with tempfile.TemporaryDirectory() as folder, loopback.serving(()) as served:
        paths = {side: Path(folder, side) for side in (SNAPSHOT, PICKLE, JSON)}
        _write_pickle(paths[PICKLE], entities(count, properties))
        _write_json(paths[JSON], entities(count, properties))
        lazy = [
            lazyentity.LazyEntity.from_bytes(lazyentity.raw(entity))
            for entity in entities(count, properties)
        ]
        (client,) = served.clients
        put_many(client, lazy)
        saved = Snapshot(paths[SNAPSHOT])
        save = _seconds(lambda: saved.refresh(lazy))
        unchanged = _seconds(lambda: saved.refresh(lazy))
        saved.close()
        wire = sum(len(lazyentity.raw(entity)) for entity in lazy)
        where = {side: str(path) for side, path in paths.items()}
        where[SERVER] = str(served.server.grpc_port)
        timed = {
            (side, until): processes.measure(
                read, [side], rounds, where[side], count, properties, until
            )[side]
            for side in where
            for until in (FIRST, ALL)
        }
        sizes = {side: path.stat().st_size for side, path in paths.items()}
    lines = [
        Form(side, sizes.get(side), summarize(timed[side, FIRST]), summarize(timed[side, ALL]))
        for side in where
    ]
    ratios = (paired_ratio(timed[PICKLE, until], timed[SNAPSHOT, until]) for until in (FIRST, ALL))
    return Forms(count, properties, lines, wire, save, unchanged, *ratios)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def goals(results: PageResults) -> list[Outcome]:
    """Compare a run with the goals of a cold start, and of the size of the file."""
    forms = results.forms
    first, share = (forms.first.median, forms.share) if forms is not None else (None, None)
    return [
        Outcome("first entity, pickle time / snapshot time", first, 20, at_least=True),
        Outcome("bytes of the file / on the wire", share, 0.25, at_least=False),
    ]


def _measured(run: Run) -> Iterator[Forms]:
    count = FEW if run.is_quick else ENTITIES
    yield measure(count, PROPERTIES, run.budget.min_rounds)


# A round takes minutes.
BENCHMARK = Benchmark(_measured, Budget(0, min_rounds=1, max_rounds=1, sample_seconds=0), goals)
