"""Apache Beam's connector: its DoFn that reads, the coder of its elements, and a whole pipeline.

Beside how many times as long stock takes, it has the CPU time of an entity as there are more of
them, and the peak memory of a process that runs the pipeline.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import os
import time
import unittest.mock
from collections.abc import Iterator
from typing import Any

import apache_beam
from apache_beam import coders
from apache_beam.io.gcp.datastore.v1new import datastoreio, helper, types
from google.cloud.environment_vars import GCD_HOST

from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import loopback, processes, sides, verify
from lazyentity.bench.harness.outcomes import Outcome
from lazyentity.bench.harness.timing import MICROSECONDS, SIDES, Budget, Task, figures, interleave
from lazyentity.bench.measure import beam_memory
from lazyentity.bench.measure.command import Benchmark, Run, announced
from lazyentity.bench.measure.page_results import Beam, BeamCase, BeamCost, PageResults
from lazyentity.patches.beam.coders import ElementCoder
from lazyentity.patches.beam.seams import CLIENT

ENTITIES, PROPERTIES = 300, 100
SIZES = (1_000, 10_000, 100_000)
"""Numbers of entities, to show that the cost of each stays the same."""
SMALL = 10
"""The properties of each of these entities."""
BATCH = 1_000
"""The most entities in a response to their query.

In responses of 4 MB, which are the server's largest, enough entities live at a time to start full
collections of garbage, which look at all objects of the process."""

READ, CODER, PIPELINE = "_QueryFn", "coder, encode and decode", "pipeline, filter and count"
CASES = (READ, CODER, PIPELINE)
"""Each case reads one property of each entity; the coder reads none."""
CODED = "_QueryFn, then its coder"
"""A case of the ablation alone."""

_LEAST = {READ: 15, CODER: 6}
"""How many times as long stock takes at least, with the native backend."""

_MIX = synthetic.MIXES["mixed"]


CONTEXTS = sides.contexts(CLIENT.patch)
"""The contexts in which the sides run."""


@contextlib.contextmanager
def serving(entities: int, properties: int, batch_size: int | None = None) -> Iterator[None]:
    """Start a server, load it, and have the connector find it while inside.

    Args:
        entities: their number.
        properties: of each.
        batch_size: the most entities in a response; None leaves it to the server.
    """
    with loopback.serving((), batch_size=batch_size) as served:
        (client,) = served.clients
        for start in range(0, entities, 1_000):
            numbers = range(start, min(start + 1_000, entities))
            loopback.store(client, [_MIX.entity(properties, n) for n in numbers])
        host = {GCD_HOST: f"127.0.0.1:{served.server.grpc_port}"}
        # The helper keeps its clients.
        helper.get_client.cache_clear()
        with unittest.mock.patch.dict(os.environ, host):
            yield
        helper.get_client.cache_clear()


def query(limit: int | None = None) -> Any:
    """Return Beam's query of the loaded entities."""
    return types.Query(synthetic.KIND, synthetic.PROJECT, limit=limit)


def _reading(name: str) -> Task:
    def read() -> list[Any]:
        # Looked up now, because the patch replaces it.
        fn = datastoreio.ReadFromDatastore._QueryFn()
        return [element.properties[name] for element in fn.process(query())]

    return read


def _coding(coder: Any, elements: list[Any]) -> Task:
    encode, decode = coder.encode, coder.decode
    return lambda: [decode(encode(element)) for element in elements]


def _fetched() -> list[Any]:
    return list(datastoreio.ReadFromDatastore._QueryFn().process(query()))


def count_chosen(name: str) -> list[int]:
    """Run a pipeline that counts the entities with a property that is not false."""
    _counted.clear()
    with apache_beam.Pipeline("DirectRunner") as pipeline:
        (
            pipeline
            | datastoreio.ReadFromDatastore(query(), num_splits=1)
            | apache_beam.Filter(lambda element: element.properties[name])
            | apache_beam.combiners.Count.Globally()
            | apache_beam.Map(_remember)
        )
    return list(_counted)


_counted: list[int] = []


def _remember(count: int) -> None:
    _counted.append(count)


def reading_task(case: str, properties: int) -> Task:
    """Return the task of a case that reads one of so many properties of the loaded entities.

    Args:
        case: `READ`, `CODED` or `PIPELINE`.
        properties: of each entity.
    """
    (name,) = synthetic.names_read(_MIX, properties, "1")

    def read_coded() -> list[Any]:
        # The pipeline's coder, of elements that go to another stage.
        coder = coders.registry.get_coder(types.Entity)
        return [each.properties[name] for each in _coding(coder, _fetched())()]

    if case == CODED:
        return read_coded
    return _reading(name) if case == READ else functools.partial(count_chosen, name)


def _tasks(case: str, properties: int) -> dict[str, Task]:
    if case == CODER:
        stock = _coding(coders.FastPrimitivesCoder(), _fetched())
        with CONTEXTS["lazy"]():
            return {"stock": stock, "lazy": _coding(ElementCoder(), _fetched())}
    return dict.fromkeys(CONTEXTS, reading_task(case, properties))


def _contents(results: list[Any]) -> list[Any]:
    return [
        [element.key.path_elements, sorted(element.exclude_from_indexes), dict(element.properties)]
        if isinstance(element, types.Entity)
        else element
        for element in results
    ]


def measure(case: str, entities: int, properties: int, budget: Budget) -> BeamCase:
    """Time one of `CASES`."""
    with serving(entities, properties):
        timed = interleave(_tasks(case, properties), budget, CONTEXTS)
        stock, lazy = (_contents(timed[side].last) for side in ("stock", "lazy"))
        verify.check_same(stock, lazy, case)
    return BeamCase(case=case, **figures(timed, MICROSECONDS / entities, ratio=SIDES))


def cpu_per_entity(entities: int, properties: int, rounds: int = 3) -> BeamCost:
    """Measure the CPU time that this process takes for each entity.

    The garbage collector runs, as in a worker. The server, which takes longer for more entities
    because it queries again for each batch, is not measured.

    Args:
        entities: their number.
        properties: of each.
        rounds: the number of times that each side reads them. The fastest counts.
    """
    (name,) = synthetic.names_read(_MIX, properties, "1")
    read = _reading(name)
    seconds: dict[str, list[float]] = {side: [] for side in CONTEXTS}
    results = {}
    with serving(entities, properties, BATCH):
        for _, (side, context) in itertools.product(range(rounds), CONTEXTS.items()):
            with context():
                gc.collect()
                start = time.process_time()
                results[side] = read()
                seconds[side].append(time.process_time() - start)
    verify.check_same(entities, len(results["lazy"]), "entities")
    verify.check_same(results["stock"], results["lazy"], "entities")
    each = {side: min(times) * MICROSECONDS / entities for side, times in seconds.items()}
    return BeamCost(entities, **each)


def peak_megabytes(entities: int, properties: int) -> dict[str, float]:
    """Return, by side, the peak memory of a process that runs the pipeline once."""
    (name,) = synthetic.names_read(_MIX, properties, "1")
    with serving(entities, properties):
        peaks = processes.measure(beam_memory.megabytes, CONTEXTS, 1, name)
    return {side: peak for side, (peak,) in peaks.items()}


def goals(results: PageResults) -> list[Outcome]:
    """Compare a run of the native backend with the goals of the cases."""
    return [
        Outcome(f"{one.case}: stock / lazy", one.ratio.median, _LEAST[one.case], at_least=True)
        for one in (results.beam.cases if results.beam is not None else ())
        if one.case in _LEAST
    ]


def _measured(run: Run) -> Iterator[Beam]:
    made = (measure(case, ENTITIES, PROPERTIES, run.budget) for case in CASES)
    cases = list(announced(made))
    sizes = SIZES[: 1 if run.is_quick else None]
    costs = list(announced(cpu_per_entity(entities, SMALL) for entities in sizes))
    entities = min(sizes[-1], SIZES[1])
    peaks = peak_megabytes(entities, PROPERTIES)
    yield Beam(ENTITIES, PROPERTIES, cases, SMALL, costs, entities, peaks)


BENCHMARK = Benchmark(
    _measured, Budget(seconds=10, min_rounds=9, max_rounds=200, sample_seconds=0.02), goals
)
