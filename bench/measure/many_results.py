"""The results files about many entities: bulk calls, snapshots, caches, clients, alternatives."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

import lazyentity
from lazyentity.bench.measure import environment, files
from lazyentity.bench.measure.environment import Environment
from lazyentity.bench.measure.stats import Summary

SCHEMA = 1


@dataclass(frozen=True)
class Keys:
    """Reading keys in one way.

    Attributes:
        keys: how many.
        latency: of the server, in seconds.
        way: one of ``bulk.WAYS``.
        side: ``"stock"`` or ``"lazy"``, a wrapped client.
        requests: how many were sent.
        seconds: of wall time.
        ratio: over ``get_many()`` with the same client.
    """

    keys: int
    latency: float
    way: str
    side: str
    requests: int
    seconds: Summary
    ratio: Summary


@dataclass(frozen=True)
class Gets:
    """Single gets of many threads: gets a second.

    Attributes:
        threads: how many.
        latency: of the server, in seconds.
        side: ``"stock"`` or ``"lazy"``, a wrapped client.
        single: by ``client.get()``.
        coalesced: by ``coalesce(client).get()``.
        ratio: coalesced over single.
        lone: the time of a coalesced get in one thread over that of a single one.
    """

    threads: int
    latency: float
    side: str
    single: Summary
    coalesced: Summary
    ratio: Summary
    lone: Summary


@dataclass(frozen=True)
class Form:
    """A form of the same entities.

    Attributes:
        side: its name.
        size: in bytes; None of a server.
        first: seconds until the first entity is read.
        everything: seconds until 4 properties of all are.
    """

    side: str
    size: int | None
    first: Summary
    everything: Summary


@dataclass(frozen=True)
class Forms:
    """The comparison of the forms.

    Attributes:
        entities, properties: how many, and how many of each.
        lines: of each side.
        wire: the bytes of all entities as a server sends them.
        save, unchanged: seconds of the first refresh, and of one that changes nothing, of entities
            that are in memory.
        first: seconds until the first entity, of pickles over the snapshot.
        everything: seconds until all, of pickles over the snapshot.
    """

    entities: int
    properties: int
    lines: list[Form]
    wire: int
    save: float
    unchanged: float
    first: Summary
    everything: Summary

    @property
    def share(self) -> float:
        """The bytes of the first form over those on the wire."""
        return (self.lines[0].size or 0) / self.wire


@dataclass(frozen=True)
class Cached:
    """A step of a cache: microseconds an entity.

    Attributes:
        step: into the cache, or out of it.
        pickle: of stock entities.
        raw: of the bytes of lazy entities.
        ratio: pickle over raw.
    """

    step: str
    pickle: Summary
    raw: Summary
    ratio: Summary


@dataclass(frozen=True)
class BeamCase:
    """One of ``beam.CASES``: microseconds of wall time an entity.

    Attributes:
        case: its name.
        stock, lazy: with either side's elements.
        ratio: stock over lazy.
    """

    case: str
    stock: Summary
    lazy: Summary
    ratio: Summary


@dataclass(frozen=True)
class BeamCost:
    """Reading so many entities: microseconds of CPU time for each of them."""

    entities: int
    stock: float
    lazy: float


@dataclass(frozen=True)
class Beam:
    """The measurements of Apache Beam's connector.

    Attributes:
        entities, properties: of the cases, how many, and how many of each.
        cases: the cases.
        small: the properties of each entity of the costs.
        costs: the costs.
        in_memory: the entities that the pipeline read whose peak memory follows.
        peaks: megabytes, by side.
    """

    entities: int
    properties: int
    cases: list[BeamCase]
    small: int
    costs: list[BeamCost]
    in_memory: int
    peaks: dict[str, float]


@dataclass(frozen=True)
class DocumentCase:
    """Reading or writing documents by one call: microseconds of CPU time a document.

    Attributes:
        call: its name.
        mix: the types of the fields.
        fields: how many a document has.
        stock, lazy: of either side.
        floor: of gRPC alone, which gives bytes; None where it was not measured.
        ratio: stock over lazy.
    """

    call: str
    mix: str
    fields: int
    stock: Summary
    lazy: Summary
    floor: Summary | None
    ratio: Summary


@dataclass(frozen=True)
class DocumentMemory:
    """Memory that a snapshot holds of which nothing was read, in bytes.

    Attributes:
        mix, fields: as of :class:`DocumentCase`.
        wire_bytes: of a response.
        stock, lazy: of either side.
        ratio: lazy over stock.
    """

    mix: str
    fields: int
    wire_bytes: int
    stock: Summary
    lazy: Summary
    ratio: Summary


@dataclass(frozen=True)
class Documents:
    """The measurements of documents.

    Attributes:
        queried: the documents that a query gives.
        looked_up: the documents that one look-up of many gives.
        cases: the cases, of reads or of writes.
        written: the documents that are written one after the other; 0 in results of reads.
        memory: of snapshots; none in results of writes.
    """

    queried: int
    looked_up: int
    cases: list[DocumentCase]
    written: int = 0
    memory: list[DocumentMemory] = field(default_factory=list)


@dataclass(frozen=True)
class Alternative:
    """A way to read some properties of entities: milliseconds of CPU time.

    Attributes:
        library: of the entities.
        way: its name.
        cpu: of all entities.
        ratio: over the last way of the library; None of that way itself.
    """

    library: str
    way: str
    cpu: Summary
    ratio: Summary | None


@dataclass(frozen=True)
class Alternatives:
    """The comparison of the ways.

    Attributes:
        entities, properties: how many, and how many of each.
        read: the properties read of each, one of ``synthetic.READS``.
        lines: of each way to read entities.
        documents: of each way to read documents of pymongo; their ratio is over raw ones.
    """

    entities: int
    properties: int
    read: str
    lines: list[Alternative]
    documents: list[Alternative]


@dataclass(frozen=True)
class WholeCall:
    """A whole call, with the garbage collector on: times over those of the other side.

    Attributes:
        call: one of ``calls.CASES``.
        size: the entities and their properties, or the values.
        goal: the bound of ``wall``.
        cpu_goal: the bound of ``cpu``; None without one.
        at_least: whether stock is the other side. The ratios are then stock over lazy, and lazy
            over the other side else.
        lazy: milliseconds of wall time.
        wall, cpu: the ratios of wall time, and of CPU time of this process.
    """

    call: str
    size: str
    goal: float
    cpu_goal: float | None
    at_least: bool
    lazy: Summary
    wall: Summary
    cpu: Summary


@dataclass(frozen=True)
class Measured:
    """One run of one of these benchmarks; the parts of the others are empty."""

    keys: list[Keys] = field(default_factory=list)
    gets: list[Gets] = field(default_factory=list)
    forms: Forms | None = None
    cached: list[Cached] = field(default_factory=list)
    beam: Beam | None = None
    documents: Documents | None = None
    alternatives: Alternatives | None = None
    calls: list[WholeCall] = field(default_factory=list)


@dataclass(frozen=True)
class ManyResults:
    """A run, and where and when it was made."""

    schema: Annotated[int, msgspec.Meta(ge=SCHEMA, le=SCHEMA)]
    date: str
    environment: Environment
    measured: Measured


def write(path: Path, measured: Measured) -> None:
    """Write a results file of this run, which was made here and now.

    Raises:
        files.ResultsError: it cannot be written.
    """
    made = ManyResults(SCHEMA, files.now(), environment.describe(lazyentity.backend), measured)
    files.write(path, files.dump(made))


def load(path: Path) -> ManyResults:
    """Read a results file about many entities.

    Raises:
        files.ResultsError: it cannot be read, or is no results file of this schema.
    """
    return files.load(path, ManyResults, SCHEMA)
