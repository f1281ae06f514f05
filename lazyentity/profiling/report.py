"""The report of a profile: the counts, and advice with its consequences."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import lazyentity
from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.counters import OTHER_NAMES, Counts, Snapshot

_USUAL = 0.5
"""A property is advised for prefetch if this share of the entities had it decoded by itself."""
_EVERYTHING = 0.9
"""Prefetching is of no use if this share of all properties is decoded."""

KEYS_ONLY: Final = "query.keys_only()"
_OF_KEYS_ONLY = (
    "The entities have no properties: tests of an entity's truth, length or names find none, and "
    "put() of such an entity deletes its properties. Code that did not run here may need them."
)
_OF_PREFETCH = (
    "The properties are decoded for every entity; a malformed one raises when its entity is "
    "received."
)
_OF_STRICT = (
    " Reading any other property raises RuntimeError, also in code that did not run here; so do "
    "items(), ==, copies and pickles."
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
    properties: tuple[Property, ...]


@dataclass(frozen=True)
class Received:
    """The entities of a kind that one line received."""

    site: CallSite
    kind: str | None
    entities: int
    bytes: int
    properties_received: int
    properties_decoded: int


@dataclass(frozen=True)
class Decoded:
    """The properties that one line decoded.

    ``operation`` is ``by name`` for reads of single properties, or the call that decoded them all.
    """

    site: CallSite
    operation: str
    kind: str | None
    times: int
    properties: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """A change of the program that the counts suggest.

    Attributes:
        site: the line that received the entities.
        kind: of the entities; None, if they have no key.
        call: the call to add, in Python.
        place: where to add it.
        prefetch: the properties that the call names.
        changes: everything that the program may notice of it.
    """

    site: CallSite
    kind: str | None
    call: str
    place: str
    prefetch: tuple[str, ...]
    changes: str


@dataclass(frozen=True)
class Report:
    """The report of a profile that ran for ``seconds``. Lists have the heaviest first."""

    seconds: float
    backend: str
    kinds: tuple[Kind, ...]
    received: tuple[Received, ...]
    decoded: tuple[Decoded, ...]
    advice: tuple[Advice, ...]

    @classmethod
    def from_counts(cls, counted: Snapshot) -> Report:
        """Make the report of what was counted between two moments."""
        by_kind: dict[str | None, Counts] = {}
        for (_, kind), counts in counted.received.items():
            by_kind.setdefault(kind, Counts()).add(counts)
        kinds = [_kind(kind, counts) for kind, counts in by_kind.items()]
        received = [
            Received(
                *key,
                counts.entities + counts.eager,
                counts.size + counts.eager_size,
                counts.received,
                counts.decoded.total(),
            )
            for key, counts in counted.received.items()
        ]
        decoded = [
            Decoded(*key, names.total(), _most_frequent(names))
            for key, names in counted.decoded.items()
        ]
        return cls(
            seconds=counted.seconds,
            # The public name imports the client first, and so lets a pending patch act.
            backend=lazyentity.backend,
            kinds=tuple(sorted(kinds, key=lambda kind: -kind.bytes - kind.eager_bytes)),
            received=tuple(sorted(received, key=lambda each: -each.bytes)),
            decoded=tuple(sorted(decoded, key=lambda each: -each.times)),
            advice=tuple(
                advice
                for (site, kind), counts in counted.received.items()
                if (advice := advise(site, kind, counts)) is not None
            ),
        )

    def data(self) -> dict[str, Any]:
        """Return the report as dicts and lists. A site has its ``file``, ``line`` and function."""
        data = dataclasses.asdict(self)
        for part in ("received", "decoded", "advice"):
            for one in data[part]:
                one["site"] = CallSite(*one["site"])._asdict()
        return data

    def json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.data(), indent=2, ensure_ascii=False) + "\n"

    def table(self) -> str:
        """Return the report as tables of text."""
        lines = [_headline(self)]
        for title, rows in _tables(self).items():
            if len(rows) > 1:
                lines += ["", title, *_aligned(rows[: LINES + 1])]
                if len(rows) > LINES + 1:
                    lines.append(f"  and {len(rows) - LINES - 1} more, in JSON")
        for one in self.advice:
            kind = f" ({one.kind})" if one.kind is not None else ""
            lines += ["", f"Advice for {_place(one.site)}{kind}: {one.call} {one.place}."]
            lines.append(f"  {one.changes}")
        return "\n".join(lines) + "\n"


def _most_frequent(names: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: (-names[name], name)))


def _kind(kind: str | None, counts: Counts) -> Kind:
    decoded = counts.decoded
    names = sorted(counts.had | decoded, key=lambda name: (-decoded[name], name))
    return Kind(
        kind=kind,
        entities=counts.entities,
        bytes=counts.size,
        eager=counts.eager,
        eager_bytes=counts.eager_size,
        properties_received=counts.received,
        properties_decoded=decoded.total(),
        properties=tuple(Property(name, counts.had[name], decoded[name]) for name in names),
    )


def advise(site: CallSite, kind: str | None, counts: Counts) -> Advice | None:
    """Return the advice for the entities of a kind that a line received; None if there is none.

    ``keys_only()`` is advised only if every entity came from a query as a whole, and the program
    did nothing but use their keys.
    """
    decoded = counts.decoded
    if counts.without_options or not counts.received:
        return None
    if not decoded:
        if counts.partial or counts.eager or counts.used:
            return None
        return Advice(site, kind, KEYS_ONLY, "before fetch()", (), _OF_KEYS_ONLY)
    # A property can be decoded more often than it was received, for copies.
    if (decoded & counts.had).total() >= _EVERYTHING * counts.received:
        return None
    usual = tuple(
        name
        for name in _most_frequent(counts.read)
        if name != OTHER_NAMES and counts.read[name] >= _USUAL * counts.entities
    )
    if not usual:
        return None
    is_strict = not counts.whole and set(counts.read) == set(usual)
    reader = "client" if counts.partial else "query"
    options = f"prefetch={list(usual)!r}" + (", strict=True" if is_strict else "")
    return Advice(
        site,
        kind,
        f"lazyentity.wrap({reader}, {options})",
        f"in place of the {reader}",
        usual,
        _OF_PREFETCH + (_OF_STRICT if is_strict else ""),
    )


LINES: Final = 15
"""How many lines a table has at most."""
_NAMES = 3
_KIBIBYTE = 1024

_Row = tuple[str, ...]


def _tables(report: Report) -> dict[str, list[_Row]]:
    """Return the rows of each table under a row of headers, by the title."""
    kinds: list[_Row] = [("kind", "entities", "bytes", "properties", "decoded")]
    properties: list[_Row] = [("kind", "property", "received", "decoded", "share")]
    for kind in report.kinds:
        name, had, read = _name(kind.kind), kind.properties_received, kind.properties_decoded
        entities = f"{kind.entities:,}" + (f" + {kind.eager:,} eager" if kind.eager else "")
        bytes_ = size(kind.bytes + kind.eager_bytes)
        kinds.append((name, entities, bytes_, f"{had:,}", share(read, had)))
        for each in kind.properties:
            if each.decoded:
                had, read = each.received, each.decoded
                properties.append((name, each.name, f"{had:,}", f"{read:,}", share(read, had)))
    received: list[_Row] = [("line", *kinds[0])]
    for line in report.received:
        had, read = line.properties_received, line.properties_decoded
        counts = f"{line.entities:,}", size(line.bytes), f"{had:,}", share(read, had)
        received.append((_place(line.site), _name(line.kind), *counts))
    decoded: list[_Row] = [("line", "operation", "kind", "times", "properties")]
    for one in report.decoded:
        counted = _name(one.kind), f"{one.times:,}", _listed(one.properties)
        decoded.append((_place(one.site), one.operation, *counted))
    return {
        "Received, by kind": kinds,
        "Decoded, by property": properties,
        "Received, by line": received,
        "Decoded, by line": decoded,
    }


def _aligned(rows: list[_Row]) -> Iterator[str]:
    """Yield the lines of a table; numbers are on the right."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    are_numbers = [
        all(cell[:1].isdigit() or cell == "-" for cell in column[1:]) for column in columns
    ]
    for row in rows:
        cells = zip(row, widths, are_numbers, strict=True)
        line = "  ".join(
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in cells
        )
        yield f"  {line.rstrip()}"


def _headline(report: Report) -> str:
    entities = sum(kind.entities + kind.eager for kind in report.kinds)
    received = sum(kind.properties_received for kind in report.kinds)
    decoded = sum(kind.properties_decoded for kind in report.kinds)
    if not entities:
        return f"lazyentity profile, {report.seconds:.1f} s: no entities were received."
    return (
        f"lazyentity profile, {report.seconds:.1f} s, {report.backend} backend: {entities:,} "
        f"entities, {decoded:,} of {received:,} properties decoded ({share(decoded, received)})."
    )


def size(count: float) -> str:
    """Return a number of bytes in a suitable unit."""
    for unit in ("B", "KiB", "MiB"):
        if count < _KIBIBYTE:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= _KIBIBYTE
    return f"{count:.1f} GiB"


def share(part: float, whole: float) -> str:
    """Return a part in percent of the whole."""
    return f"{part / whole:.0%}" if whole else "-"


def _name(kind: str | None) -> str:
    return "(no key)" if kind is None else kind


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {more} more" if more > 0 else "")


def _place(site: CallSite) -> str:
    """Return a line, its path shorter where it is below the working directory."""
    if not site.file:
        return site.function
    path = Path(site.file)
    try:
        shown = path.relative_to(Path.cwd())
    except (OSError, ValueError):
        shown = path
    return f"{shown}:{site.line} {site.function}"
