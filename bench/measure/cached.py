"""A cache of entities: pickled stock entities, next to the bytes of lazy ones."""

from __future__ import annotations

import pickle

from google.cloud.datastore import Entity

import lazyentity
from lazyentity.bench.cases import decoding
from lazyentity.bench.harness import sides, verify
from lazyentity.bench.harness.timing import MICROSECONDS, Budget, Task, figures, interleave
from lazyentity.bench.measure.command import Benchmark
from lazyentity.bench.measure.page_results import Cached

PROPERTIES, READ = 100, "4"
FETCH, STORE = "out of the cache", "into the cache"


def _fetching(case: decoding.Case) -> dict[str, Task]:
    """Both ways to get the entities of ``case`` out of a cache and read their properties."""
    stock = [entity for response in case.responses for entity in sides.STOCK.entities(response)]
    pickles = [pickle.dumps(entity, pickle.HIGHEST_PROTOCOL) for entity in stock]
    raw_entities = [raw for response in case.responses for raw in decoding.entities_of(response)]
    make, reader = lazyentity.LazyEntity.from_bytes, case.reader

    def unpickle() -> list[Entity]:
        entities = [pickle.loads(pickled) for pickled in pickles]  # noqa: S301  # made above
        reader(entities)
        return entities

    def from_bytes() -> list[Entity]:
        entities: list[Entity] = [make(raw) for raw in raw_entities]
        reader(entities)
        return entities

    return {"pickle": unpickle, "raw": from_bytes}


def _storing(case: decoding.Case) -> dict[str, Task]:
    """Both ways to make the cached form of the received entities of ``case``."""
    stock = [entity for response in case.responses for entity in sides.STOCK.entities(response)]
    lazy = [entity for response in case.responses for entity in sides.LAZY.entities(response)]
    raw = lazyentity.raw
    return {
        "pickle": lambda: [pickle.dumps(entity, pickle.HIGHEST_PROTOCOL) for entity in stock],
        "raw": lambda: [raw(entity) for entity in lazy],
    }


def measure(step: str, properties: int, budget: Budget) -> Cached:
    """Time one step of a cache for mixed entities.

    Args:
        step: ``FETCH``, with `READ` properties read of each entity, or ``STORE``.
        properties: of each entity.
        budget: of the measurement.

    Returns:
        The times of both ways.
    """
    case = decoding.case("mixed", properties, READ)
    timed = interleave(_fetching(case) if step == FETCH else _storing(case), budget)
    if step == FETCH:
        verify.check_read(case.reader, timed["pickle"].last, timed["raw"].last)
    return Cached(step, **figures(timed, MICROSECONDS / case.entities, ratio=("pickle", "raw")))


BENCHMARK = Benchmark(
    lambda run: (measure(step, PROPERTIES, run.budget) for step in (FETCH, STORE)),
    Budget(seconds=5, min_rounds=9, max_rounds=200, sample_seconds=0.005),
)
