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
from lazyentity.profiling.counts import Counts, Line, Named
from lazyentity.profiling.findings import (
    Advice,
    Suggestion,
    advice_for_held,
    advice_for_reads,
    advice_for_sentinel,
    advice_for_whole,
    suggest,
)
from lazyentity.profiling.snapshot import Snapshot

ESTIMATE = (
    "An estimate, not a measurement: the counts above, times costs that were measured on this "
    "machine with made-up entities when the profile began. It covers the conversion of entities; "
    "models, writing and the network are left out."
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
    """The entities of one kind that one site received, and the options that fit it.

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
    """The operations of one sort at one site that decoded several properties at once."""

    site: CallSite
    operation: str
    kind: str | None
    calls: int
    properties: int


@dataclass(frozen=True)
class Held:
    """The entities of one kind from one site that stayed in memory.

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
        kinds = _kinds(counted, costs)
        entities = sum(kind.entities for kind in kinds)
        received = sum(kind.properties_received for kind in kinds)
        decoded = sum(kind.properties_decoded for kind in kinds)
        stock = costs.stock_seconds(entities, received)
        lazy = costs.lazy_seconds(entities, received, decoded)
        return cls(
            seconds=counted.seconds,
            backend=backend,
            kinds=kinds,
            sites=_heaviest(
                (
                    _reads(site, kind, each, bool(counted.sentinels))
                    for (site, kind), each in counted.call_sites.items()
                ),
                lambda reads: reads.bytes,
            ),
            wholes=_heaviest(
                (Whole(*key, *_numbers(line)) for key, line in counted.wholes.items()),
                lambda whole: whole.properties,
            ),
            held=_heaviest(_held(counted), lambda held: held.mean_bytes),
            sentinels=_heaviest(
                (Sentinel(site, use, line.calls) for (site, use, _), line in _met(counted)),
                lambda sentinel: sentinel.count,
            ),
            advice=tuple(dict.fromkeys(_advice(counted))),
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


def _heaviest(lines: Iterable[Any], weight: Callable[[Any], float]) -> tuple[Any, ...]:
    return tuple(sorted(lines, key=weight, reverse=True))


def _numbers(line: Line) -> tuple[int, int]:
    return line.calls, line.properties


def _met(counted: Snapshot) -> Iterable[Any]:
    return counted.sentinels.items()


def _advice(counted: Snapshot) -> Iterable[Advice]:
    for (site, _, _), _ in _met(counted):
        yield advice_for_sentinel(site)
    for key, line in counted.wholes.items():
        yield from advice_for_whole(*key, line)
    for (site, kind), counts in counted.call_sites.items():
        yield from advice_for_reads(site, kind, counts, bool(counted.sentinels))
        yield from advice_for_held(site, kind, counts)


def _kinds(counted: Snapshot, costs: Costs) -> tuple[Kind, ...]:
    together: dict[str | None, list[Counts]] = {}
    for (_, kind), counts in counted.call_sites.items():
        together.setdefault(kind, []).append(counts)
    return _heaviest(
        (_kind(kind, counts, costs) for kind, counts in together.items()),
        lambda kind: kind.bytes + kind.eager_bytes,
    )


def _kind(kind: str | None, several: list[Counts], costs: Costs) -> Kind:
    names: dict[str, Named] = {}
    for counts in several:
        for name, named in counts.names.items():
            total = names.setdefault(name, Named())
            total.received += named.received
            total.read += named.read
            total.whole += named.whole
    entities = sum(counts.entities for counts in several)
    received = sum(named.received for named in names.values())
    decoded = sum(named.decoded for named in names.values())
    stock = costs.stock_seconds(entities, received)
    return Kind(
        kind=kind,
        entities=entities,
        bytes=sum(counts.size for counts in several),
        eager=sum(counts.eager for counts in several),
        eager_bytes=sum(counts.eager_size for counts in several),
        properties_received=received,
        properties_decoded=decoded,
        estimated_seconds_saved=stock - costs.lazy_seconds(entities, received, decoded),
        properties=_heaviest(
            # Properties of the same weight are sorted by name.
            (
                Property(name, named.received, named.decoded)
                for name, named in sorted(names.items())
            ),
            lambda each: each.decoded,
        ),
    )


def _reads(site: CallSite, kind: str | None, counts: Counts, is_leaked: bool) -> Reads:
    suggestion = suggest(counts, is_leaked)
    one_by_one = suggestion.prefetch if len(suggestion.prefetch) > 1 else ()
    return Reads(
        site=site,
        kind=kind,
        entities=counts.entities + counts.eager,
        bytes=counts.size + counts.eager_size,
        properties_received=sum(named.received for named in counts.names.values()),
        properties_decoded=sum(named.decoded for named in counts.names.values()),
        one_by_one=one_by_one,
        reads=sum(counts.names[name].read for name in one_by_one),
        suggestion=suggestion,
    )


def _held(counted: Snapshot) -> Iterable[Held]:
    for (site, kind), counts in counted.call_sites.items():
        if counts.entities or counts.alive:
            received = sum(named.received for named in counts.names.values())
            decoded = sum(min(named.received, named.decoded) for named in counts.names.values())
            unread = 1 - decoded / received if received else 0.0
            yield Held(
                site=site,
                kind=kind,
                alive=counts.alive,
                bytes=counts.alive_size,
                unread_bytes=round(unread * counts.alive_size),
                mean_bytes=round(counts.byte_seconds / (counted.seconds or 1.0)),
                longest_seconds=counts.longest,
            )
