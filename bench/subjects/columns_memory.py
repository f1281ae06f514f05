"""The memory of a process that takes many entities through ``column_batches()``."""

from __future__ import annotations

from collections.abc import Iterator

import lazyentity
from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import processes
from lazyentity.bench.harness.lines import ColumnsMemory
from lazyentity.bench.harness.processes import peak_of_process
from lazyentity.bench.harness.stats import paired_ratio, summarize
from lazyentity.columnar import BATCH

ENTITIES, PROPERTIES = 1_000_000, 60
_DISTINCT = 500


def names() -> tuple[str, ...]:
    """One property of each of the six types, in the middle of an entity."""
    mix = synthetic.MIXES["mixed"]
    middle = PROPERTIES // 2
    return mix.names(PROPERTIES)[middle : middle + len(mix.rotation)]


def entities(count: int) -> Iterator[lazyentity.LazyEntity]:
    """Make lazy entities that share no bytes, as they come out of a query."""
    mix = synthetic.MIXES["mixed"]
    distinct = [
        synthetic.entity_pb(mix, PROPERTIES, number).SerializeToString()
        for number in range(min(_DISTINCT, count))
    ]
    for number in range(count):
        yield lazyentity.LazyEntity.from_bytes(bytes(bytearray(distinct[number % _DISTINCT])))


def peak(count: int) -> float:
    """Take entities through batches of columns; the peak of this process, in megabytes."""
    wanted = names()
    taken = 0
    for batch in lazyentity.column_batches(entities(count), wanted):
        taken += len(batch[wanted[0]])
    assert taken == count
    return peak_of_process() / 1e6


def measure(count: int, rounds: int) -> ColumnsMemory:
    """Compare the peaks of processes that take ``count`` entities, and a hundredth of them."""
    few, many = count // 100, count
    peaks = processes.measure(peak, (few, many), rounds)
    return ColumnsMemory(
        entities=count,
        batch=BATCH,
        few=summarize(peaks[few]),
        all=summarize(peaks[many]),
        ratio=paired_ratio(peaks[many], peaks[few]),
    )
