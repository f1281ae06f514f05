"""The report of a profile as data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import lazyentity
from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.costs import Costs, measure
from lazyentity.profiling.counters import Snapshot
from lazyentity.profiling.counts import Counts
from lazyentity.profiling.findings import Advice, Suggestion, advise, suggest

ESTIMATE = (
    "An estimate, not a measurement: the counts above, times costs that were measured on this "
    "machine with made-up entities. It covers the conversion of entities; models, writing and the "
    "network are left out."
)


@dataclass(frozen=True)
class Property:
    """One property of a kind."""

    name: str
    received: int
    decoded: int


@dataclass(frozen=True)
class Kind:
    """All entities of a kind. ``bytes`` is their size on the wire; ``eager`` ones became stock."""

    kind: str | None
    entities: int
    bytes: int
    eager: int
    eager_bytes: int
    properties_received: int
    properties_decoded: int
    estimated_seconds_saved: float
    properties: tuple[Property, ...]


@dataclass(frozen=True)
class Reads:
    """The entities of a kind that one site received, and the options that fit it.

    ``one_by_one`` are the properties that were read one after another, and that a prefetch would
    serve; ``reads`` is how many such reads there were.
    """

    site: CallSite
    kind: str | None
    entities: int
    bytes: int
    properties_received: int
    properties_decoded: int
    one_by_one: tuple[str, ...]
    reads: int
    suggestion: Suggestion


@dataclass(frozen=True)
class Whole:
    """The operations of the same sort at one site that decoded several properties at once."""

    site: CallSite
    operation: str
    kind: str | None
    calls: int
    properties: int


@dataclass(frozen=True)
class Held:
    """The entities of a kind from one site that stayed in memory.

    - ``alive`` entities are still in memory; about ``unread_bytes`` are of unread properties.
    - ``mean_bytes`` is the average number of bytes in memory, entities that are gone included.
    - ``longest_seconds`` is the longest time of an entity that is gone, or the mean age of the
      entities still in memory, if that is more.
    """

    site: CallSite
    kind: str | None
    alive: int
    bytes: int
    unread_bytes: int
    mean_bytes: int
    longest_seconds: float


@dataclass(frozen=True)
class Sentinel:
    """The uses of an undecoded property that C code took past the methods of an entity."""

    site: CallSite
    use: str
    count: int


@dataclass(frozen=True)
class Estimate:
    """CPU seconds, from measured costs. ``stock`` and ``lazy`` are without eager entities."""

    note: str
    stock_seconds: float
    lazy_seconds: float
    saved_seconds: float
    costs_in_microseconds: Costs


@dataclass(frozen=True)
class Report:
    """The report of a profile that ran for ``seconds``. Lists have the heaviest first.

    ``advice`` has a line for each change of the program that the counts suggest, and says what the
    program may notice of it.
    """

    seconds: float
    backend: str
    kinds: tuple[Kind, ...]
    sites: tuple[Reads, ...]
    wholes: tuple[Whole, ...]
    held: tuple[Held, ...]
    sentinels: tuple[Sentinel, ...]
    advice: tuple[Advice, ...]
    estimate: Estimate

    @classmethod
    def of(cls, counted: Snapshot) -> Report:
        """Make the report of what was counted between two moments."""
        # The public name imports the client first, and so lets a pending patch act.
        backend = lazyentity.backend
        costs = measure()
        is_leaked = bool(counted.sentinels)
        every, by_kind = Counts(), dict[str | None, Counts]()
        for (_, kind), counts in counted.call_sites.items():
            by_kind.setdefault(kind, Counts()).add(counts)
            every.add(counts)
        stock, lazy = costs.seconds(every)
        sites = counted.call_sites.items()
        held = ((key, counts) for key, counts in sites if counts.entities or counts.alive)
        return cls(
            seconds=counted.seconds,
            backend=backend,
            kinds=_heaviest(_kind(*each, costs) for each in by_kind.items()),
            sites=_heaviest(_reads(*key, counts, is_leaked) for key, counts in sites),
            wholes=_heaviest(
                Whole(*key, line.calls, line.properties) for key, line in counted.wholes.items()
            ),
            held=_heaviest(_held(*key, counts, counted.seconds) for key, counts in held),
            sentinels=_heaviest(
                Sentinel(*key[:2], line.calls) for key, line in counted.sentinels.items()
            ),
            advice=tuple(dict.fromkeys(advise(counted))),
            estimate=Estimate(ESTIMATE, stock, lazy, stock - lazy, costs),
        )

    def data(self) -> dict[str, Any]:
        """Return the report as dicts and lists. A site has its ``file`` and ``line``."""
        data = dataclasses.asdict(self)
        for part in ("sites", "wholes", "held", "sentinels", "advice"):
            for one in data[part]:
                one["site"] = CallSite(*one["site"])._asdict()
        return data

    def json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.data(), indent=2, ensure_ascii=False) + "\n"


_WEIGHTS: dict[type, Callable[[Any], float]] = {
    Kind: lambda kind: kind.bytes + kind.eager_bytes,
    Property: lambda each: each.decoded,
    Reads: lambda reads: reads.bytes,
    Whole: lambda whole: whole.properties,
    Held: lambda held: held.mean_bytes,
    Sentinel: lambda sentinel: sentinel.count,
}


def _heaviest(lines: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(lines, key=lambda line: _WEIGHTS[type(line)](line), reverse=True))


def _kind(kind: str | None, counts: Counts, costs: Costs) -> Kind:
    stock, lazy = costs.seconds(counts)
    # Properties of the same weight are sorted by name.
    names, decoded = sorted(counts.had | counts.read | counts.whole), counts.decoded_by_name
    return Kind(
        kind=kind,
        entities=counts.entities,
        bytes=counts.size,
        eager=counts.eager,
        eager_bytes=counts.eager_size,
        properties_received=counts.received,
        properties_decoded=counts.decoded,
        estimated_seconds_saved=stock - lazy,
        properties=_heaviest(Property(name, counts.had[name], decoded[name]) for name in names),
    )


def _reads(site: CallSite, kind: str | None, counts: Counts, is_leaked: bool) -> Reads:
    suggestion = suggest(counts, is_leaked)
    one_by_one = suggestion.prefetch if len(suggestion.prefetch) > 1 else ()
    return Reads(
        site=site,
        kind=kind,
        entities=counts.entities + counts.eager,
        bytes=counts.size + counts.eager_size,
        properties_received=counts.received,
        properties_decoded=counts.decoded,
        one_by_one=one_by_one,
        reads=sum(counts.read[name] for name in one_by_one),
        suggestion=suggestion,
    )


def _held(site: CallSite, kind: str | None, counts: Counts, seconds: float) -> Held:
    unread = 1 - counts.decoded_once / counts.received if counts.received else 0.0
    return Held(
        site=site,
        kind=kind,
        alive=counts.alive,
        bytes=counts.alive_size,
        unread_bytes=round(unread * counts.alive_size),
        mean_bytes=round(counts.byte_seconds / (seconds or 1.0)),
        longest_seconds=counts.longest,
    )
