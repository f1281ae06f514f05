"""The tables of a run, specified once for the terminal and for the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from lazyentity.bench.cases.decoding import DOCUMENT
from lazyentity.bench.harness.lines import APPENGINE_CALLS, UNITS, Conversion, Put
from lazyentity.bench.harness.results import Environment, Results
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.report import goals
from lazyentity.bench.report.table import Figure, Label, Pivot, Table, count, medians

_Line = TypeVar("_Line")


@dataclass(frozen=True)
class _Way:
    """A way of reading the document: a line of `_document_floor`."""

    name: str
    time: Summary
    ratio: Summary | None = None
    over_json: Summary | None = None


_PROPERTIES = Label("properties", "properties")
_BYTES = Label("bytes", "wire_bytes")
_SIZE = Label("entities x properties", lambda line: f"{line.entities:,} x {line.properties:,}")
_RATIO = Figure("stock / lazy", "ratio")
_MICROSECONDS, _MILLISECONDS = medians("µs"), medians("ms")
_LAZY_RATIO = "lazy / stock"

_README_COUNTS = (5, 20, 100, 500, 1000)
_SIX_TYPES = "Six types in rotation (strings, integers, floats, booleans, timestamps, blobs):"
_README_MIXES = {
    "mixed": ("Six types", _SIX_TYPES),
    "strings": ("Strings", "Strings only:"),
    "nested": ("Embedded", "Embedded entities and arrays, read to their leaves:"),
}
_README_MODELS = {
    "Model": ("Models", "Models of six types in rotation:"),
    "Expando": ("Expandos", "The same entities as Expandos, all of their properties dynamic:"),
}
_READS = {"0": "none read", "1": "1 read", "4": "4 read", "all": "all read"}


def _conversions(results: Results) -> Iterator[Table]:
    of_mix: dict[str, list[Conversion]] = {}
    for line in results.conversion:
        of_mix.setdefault(line.mix, []).append(line)
    # The mixes of the documentation come first, in its order.
    for mix in dict.fromkeys((*_README_MIXES, *_README_MODELS, *of_mix)):
        if mix == DOCUMENT or mix in APPENGINE_CALLS or mix not in of_mix:
            continue
        headers = {"4": "4 read", "all": "all read by name", "items": "items()"}
        if mix in _README_MODELS:
            headers = {read: _READS[read] for read in ("0", "4", "all")}
        heading, prose = (_README_MIXES | _README_MODELS).get(mix, ("", ""))
        yield Table(
            f"{mix}: bytes in, entities out, µs per entity",
            prose,
            of_mix[mix],
            (_PROPERTIES, _BYTES),
            (*medians("µs", "stock", "lazy", "upb_parse"), _RATIO),
            pivot=Pivot(Label("read", "read"), "4", headers),
            compact=mix not in _README_MIXES or mix == "mixed",
            in_readme=lambda line: line.mix in _README_MODELS or line.properties in _README_COUNTS,
            heading=heading,
        )


def _appengine(results: Results) -> Iterator[Table]:
    lines = [line for line in results.conversion if line.mix in APPENGINE_CALLS]
    yield Table(
        "App Engine's client: from the call to the last value read, µs per entity",
        "RPCs are answered by canned bytes, in the thread that waits for them. Times are CPU "
        "time per entity, from the call to the last value read; the last five calls convert "
        "parsed messages and do nothing else. Ratios are stock time over lazy time: medians, "
        "with their quartiles in parentheses; below 1 stock is faster:",
        sorted(lines, key=lambda line: APPENGINE_CALLS.index(line.mix)),
        (Label("call", "mix"), _PROPERTIES, Label("read", lambda line: _READS[line.read])),
        (*medians("µs", "stock", "lazy", "upb_parse"), _RATIO),
        heading="From the call to the last value",
    )


def _document(results: Results) -> Iterator[Table]:
    both: tuple[Conversion | Put, ...] = (*results.conversion, *results.puts)
    lines = [line for line in both if line.mix == DOCUMENT]
    yield Table(
        "one property that holds a nested document, ms",
        "One property that holds a dict of dicts and lists, a few levels deep, of many small "
        "values:",
        lines,
        (
            Label(
                "document",
                lambda line: "all of it read" if isinstance(line, Conversion) else "written",
            ),
            Label("kB", lambda line: f"{line.wire_bytes / 1000:.0f}"),
        ),
        (*medians("ms", divisor=1000), Figure("stock / lazy", "ratio", digits=2)),
        heading="A nested document",
    )


def _document_floor(results: Results) -> Iterator[Table]:
    floor = results.document_floor
    if floor is None:
        return
    yield Table(
        "the whole document read by the same loop, ms",
        "The same document read by one loop, from four sources: stock entities, lazy entities, "
        "plain dicts that msgspec parsed from JSON, and entities that were decoded before:",
        (
            _Way("stock", floor.stock),
            _Way("lazy", floor.lazy, floor.ratio, floor.over_json),
            _Way("JSON into plain dicts", floor.json, floor.json_ratio),
            _Way("decoded before", floor.loop),
        ),
        (Label("read from", "name"),),
        (
            Figure("time", "time", "ms"),
            Figure("stock / it", "ratio", digits=2),
            Figure("it / JSON", "over_json", digits=2),
        ),
        heading="The document read by one loop",
    )


def _writes(results: Results) -> Iterator[Table]:
    changes = {"0": "none changed", "1": "1 changed", "half": "half changed", "all": "all changed"}
    yield Table(
        "mixed: bytes in, 1 read, some changed, bytes out, µs per entity",
        "Entities of six mixed types read, changed and written: from the bytes of a response "
        "of 20 entities, one property read, to the serialised message of each. Times are per "
        "entity:",
        results.read_modify_write,
        (_PROPERTIES, _BYTES),
        (*_MICROSECONDS, _RATIO),
        pivot=Pivot(Label("changed", "changed"), "1", changes),
        heading="Read, change, write",
    )
    yield Table(
        "mixed: fresh entities in, messages out, µs per entity",
        "Fresh entities of six mixed types to messages, as in a put, per entity:",
        [line for line in results.puts if line.mix != DOCUMENT],
        (_PROPERTIES, _BYTES),
        (*_MICROSECONDS, _RATIO),
        heading="New entities",
    )


def _calls(results: Results) -> Iterator[Table]:
    call = Label("call", "call")
    if results.has_floor:
        yield Table(
            "end to end over loopback gRPC, ms per call, mixed; floor: nothing decoded",
            "Through the client, over loopback gRPC, wall time of a call; the *floor* is the same "
            "path with nothing decoded:",
            results.end_to_end,
            (call, _SIZE, Label("done", "done")),
            (*medians("ms", "stock", "lazy", "floor"), _RATIO),
            heading="Through the client",
        )
        return
    yield Table(
        "over loopback gRPC, ms per call",
        "Through the client, over loopback gRPC, wall time of a call:",
        results.end_to_end,
        (_SIZE,),
        (*_MILLISECONDS, _RATIO),
        pivot=Pivot(Label("read", "read"), "4", _READS),
        group=call,
        heading="Through the client",
    )


def _memory(results: Results) -> Iterator[Table]:
    yield Table(
        "memory held, KiB per entity, mixed, 4 read",
        "Memory held by an entity of six mixed types, 4 read:",
        results.memory,
        (_PROPERTIES, _BYTES),
        (
            *medians("KiB", "stock", "lazy", "upb_message", divisor=1024),
            Figure(_LAZY_RATIO, "ratio", digits=2),
        ),
        heading="Memory held",
    )
    yield Table(
        "names that come once, all read, µs per entity; MB of a process after a stream of them",
        "Names that come once: no two entities have a name in common, and all of each is read. "
        "Times are per entity; memory is that of a process after a stream of them:",
        results.new_names,
        (Label("of", "of"), Label("names", "names")),
        (
            *_MICROSECONDS,
            _RATIO,
            Figure("stock", "stock_mb", "MB"),
            Figure("lazy", "lazy_mb", "MB"),
            Figure(_LAZY_RATIO, "memory_ratio", digits=2),
        ),
        heading="Names that come once",
    )


def _growth(results: Results) -> Iterator[Table]:
    for line in results.scaling:
        unit = UNITS[line.growing]
        yield Table(
            f"one response that grows, mixed, 4 read, µs per {unit}; growth: / the size before",
            f"Cost per {unit} as one response of six mixed types grows in {line.growing}, 4 read "
            "of each entity. The whole cost grows linearly where the growth, the cost over that of "
            "the size before, is 1; below 1, the fixed cost of a response is spread over more:",
            line.points,
            (_SIZE, _BYTES),
            (
                Figure("stock", "stock", f"µs per {unit}", digits=3),
                Figure("lazy", "lazy", f"µs per {unit}", digits=4),
                Figure("growth", "growth", digits=2),
            ),
            compact=False,
            heading=f"A response that grows in {line.growing}",
        )


def _overheads(results: Results) -> Iterator[Table]:
    yield Table(
        "to_dict() of mixed entities, next to decoding them in place, µs per entity",
        "``lazyentity.to_dict()`` of entities of six mixed types, next to decoding all of each "
        "in place, per entity:",
        results.plain_values,
        (_PROPERTIES,),
        (
            Figure("decode", "decode", "µs"),
            Figure("to_dict", "to_dict", "µs"),
            Figure("to_dict / decode", "ratio", digits=2),
        ),
        heading="Plain dicts",
    )
    yield Table(
        "uses of libraries that have an adapter, µs a use",
        "Uses of libraries that have an adapter, lazy entities with all adapters next to stock "
        "entities with none, without a network, per use:",
        results.adapted,
        (Label("use", "use"),),
        (
            *_MICROSECONDS,
            Figure(_LAZY_RATIO, "ratio", digits=2),
            Figure("more", "more", "µs", digits=2),
        ),
        heading="Libraries with an adapter",
    )
    yield Table(
        "reading a property that is decoded already, ns",
        "Reading a property that is decoded already:",
        _one(results.access),
        (Label("expression", lambda _line: 'entity["name"]'),),
        (
            Figure("lazy", "entity", "ns"),
            Figure("plain dict", "plain_dict", "ns"),
            Figure("lazy / plain dict", "ratio"),
        ),
        heading="A decoded property",
    )
    yield Table(
        "import, ms",
        "The import, once a process:",
        _one(results.import_ms),
        (Label("statement", lambda _line: "import lazyentity.auto"),),
        (Figure("adds", lambda summary: summary, "ms"),),
        compact=False,
        heading="The import",
    )


def _beside_entities(results: Results) -> Iterator[Table]:
    """Packed documents, columns, and calls of adapted libraries."""
    yield Table(
        "a document as embedded entities and packed, ms; write and read: conversion alone",
        "A document as embedded entities and packed, ms; write and read: conversion alone:",
        results.packed,
        (
            Label("document", "size"),
            Label("use", "use"),
            Label("bytes embedded", "embedded_bytes"),
            Label("bytes packed", "packed_bytes"),
        ),
        (
            *medians("ms", "stock", "lazy", "packed", digits=2),
            Figure("stock / packed", "ratio"),
            Figure("lazy / packed", "over_lazy"),
        ),
    )
    yield Table(
        "a DataFrame of 6 of 60 properties of 200 entities, ms",
        "A DataFrame of 6 of 60 properties of 200 entities, ms:",
        results.columns,
        (Label("from", "source"),),
        (
            *medians("ms", digits=2),
            Figure("to_pandas", "columns", "ms", digits=2),
            Figure("columns", "lists", "ms", digits=2),
            Figure("entities alone", "entities_alone", "ms", digits=2),
            Figure("stock / to_pandas", "ratio"),
            Figure("lazy / to_pandas", "over_lazy"),
        ),
    )
    yield Table(
        "peak memory of a process that takes entities through column_batches(), MB",
        "Peak memory of a process that takes entities through column_batches(), MB:",
        _one(results.columns_memory),
        (count("entities", "entities"), Label("a batch", "batch")),
        (
            Figure("a hundredth of them", "few", "MB"),
            Figure("all", "all", "MB"),
            Figure("all / a hundredth", "ratio", digits=3),
        ),
    )
    yield Table(
        "calls of adapted libraries without entities, CPU time with adapters / without",
        "CPU time of a call that no entity is in, with adapters / without, while so many "
        "entities of which nothing was read are alive elsewhere in the process:",
        results.adapter_costs,
        (
            Label("library", "library"),
            Label("call", "use"),
            Label("goals", goals.goals_in_words),
            Label("missed", goals.missed_in_words),
        ),
        (
            Figure("without", "stock", "µs", digits=2),
            Figure("more, none alive", "more", "µs", digits=2),
            Figure("none alive", "none", digits=2),
            Figure("1 alive", "one", digits=2),
            Figure("10,000 alive", "many", digits=2),
        ),
    )


def _one(line: _Line | None) -> tuple[_Line, ...]:
    """The lines of a table of a single line."""
    return () if line is None else (line,)


def tables(results: Results) -> Iterator[Table]:
    """The tables of everything that the run measured, in the order in which they are shown."""
    makers = (
        *(_conversions, _appengine, _document, _document_floor, _writes, _calls, _memory, _growth),
        *(_overheads, _beside_entities),
    )
    return (table for make in makers for table in make(results) if table.lines)


def environment_line(where: Environment) -> str:
    """The software and the machine of a run, in one line."""
    versions = ", ".join(
        f"{package} {version}"
        for package, version in where.versions.items()
        if package != "lazyentity"
    )
    return (
        f"{where.python}, {versions} ({where.protobuf_implementation}), {where.backend} backend; "
        f"{where.cpu}, {where.cores} cores, {where.system}"
    )
