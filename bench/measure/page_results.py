"""The sections of a results file that only benchmarks of the documentation have.

A ratio is stock over lazy where nothing else is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lazyentity.bench.harness.lines import Sides
from lazyentity.bench.harness.results import Results
from lazyentity.bench.harness.stats import Summary


@dataclass(frozen=True)
class Keys:
    """Reading keys in one way: seconds of wall time.

    ``latency`` is of the server, in seconds. ``way`` is one of ``bulk.WAYS``, and ``side`` that of
    a stock client or of a wrapped one. ``ratio`` is over ``get_many()`` with the same client.
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

    ``single`` is by ``client.get()``, ``coalesced`` by ``coalesce(client).get()``; ``ratio`` is
    coalesced over single. ``lone`` is the time of a coalesced get in one thread over that of a
    single one. The others are as of :class:`Keys`.
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
    """A form of the same entities, of ``size`` bytes (none of a server): seconds.

    ``first`` is until the first entity is read, ``everything`` until 4 properties of all are.
    """

    side: str
    size: int | None
    first: Summary
    everything: Summary


@dataclass(frozen=True)
class Forms:
    """The comparison of the forms.

    ``wire`` is the bytes of all entities as a server sends them. ``save`` and ``unchanged`` are the
    seconds of the first refresh, and of a refresh that changes nothing, with entities in memory.
    ``first`` and ``everything`` are ratios, pickles over the snapshot.
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
    """A step into a cache, or out of it: microseconds an entity.

    ``pickle`` is of stock entities, ``raw`` of the bytes of lazy ones, ``ratio`` pickle over raw.
    """

    step: str
    pickle: Summary
    raw: Summary
    ratio: Summary


@dataclass(frozen=True)
class BeamCase(Sides):
    """One of ``beam.CASES``: microseconds of wall time an entity."""

    case: str


@dataclass(frozen=True)
class BeamCost:
    """Reading so many entities: microseconds of CPU time for each of them."""

    entities: int
    stock: float
    lazy: float


@dataclass(frozen=True)
class Beam:
    """The measurements of Apache Beam's connector.

    ``small`` is the number of properties of each entity of ``costs``. ``peaks`` are megabytes by
    side, of a process whose pipeline read ``in_memory`` entities.
    """

    entities: int
    properties: int
    cases: list[BeamCase]
    small: int
    costs: list[BeamCost]
    in_memory: int
    peaks: dict[str, float]


@dataclass(frozen=True)
class DocumentCase(Sides):
    """Reading or writing documents by one call: microseconds of CPU time a document.

    ``mix`` is the types of the ``fields`` of each. ``floor`` is of gRPC alone, which gives bytes;
    None where it was not measured.
    """

    call: str
    mix: str
    fields: int
    floor: Summary | None = None


@dataclass(frozen=True)
class DocumentMemory(Sides):
    """Bytes that a snapshot holds of which nothing was read. ``ratio`` is lazy over stock."""

    mix: str
    fields: int
    wire_bytes: int


@dataclass(frozen=True)
class Documents:
    """The measurements of documents: of a query, of a look-up, and written one by one.

    ``written`` is 0 in results of reads, and ``memory`` is empty in results of writes.
    """

    queried: int
    looked_up: int
    cases: list[DocumentCase]
    written: int = 0
    memory: list[DocumentMemory] = field(default_factory=list)


@dataclass(frozen=True)
class Alternative:
    """A way to read some properties of all entities: milliseconds of CPU time.

    ``ratio`` is over the last way of the library; None of that way itself.
    """

    library: str
    way: str
    cpu: Summary
    ratio: Summary | None


@dataclass(frozen=True)
class Alternatives:
    """The comparison of the ways, ``read`` being one of ``synthetic.READS``.

    The ratios of ``documents``, which are pymongo's, are over raw ones. ``rows`` are Spanner's, and
    last the entities of a response.
    """

    entities: int
    properties: int
    read: str
    lines: list[Alternative]
    documents: list[Alternative]
    rows: list[Alternative]


@dataclass(frozen=True)
class WholeCall:
    """A whole call, with the garbage collector on: milliseconds of wall time, and ratios.

    ``goal`` is the bound of ``wall``, ``cpu_goal`` that of ``cpu``: the ratios of wall time and of
    CPU time of this process. They are stock over lazy where ``at_least`` holds, and lazy over the
    other side else.
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
class SeamGains:
    """A call of a client whose seams are removed in turn: milliseconds of CPU time with all seams.

    ``gains`` is the time without some of the seams over the time with all, by the names of these.
    ``stock`` is the same of a client without any.
    """

    call: str
    milliseconds: Summary
    stock: Summary
    gains: dict[str, Summary]


@dataclass(frozen=True)
class PageResults(Results):
    """A run of any benchmark: the sections for users and for the documentation."""

    keys: list[Keys] = field(default_factory=list)
    gets: list[Gets] = field(default_factory=list)
    forms: Forms | None = None
    cached: list[Cached] = field(default_factory=list)
    beam: Beam | None = None
    documents: Documents | None = None
    alternatives: Alternatives | None = None
    calls: list[WholeCall] = field(default_factory=list)
    seams: list[SeamGains] = field(default_factory=list)


load = PageResults.load
