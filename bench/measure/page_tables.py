"""The tables of the benchmarks that only the documentation shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lazyentity.bench.harness.results import Results
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.measure.page_results import (
    Alternatives,
    Beam,
    DocumentCase,
    Documents,
    Form,
    Forms,
    Gets,
    Keys,
    PageResults,
    SeamGains,
    WholeCall,
)
from lazyentity.bench.report.table import Figure, Label, Table, count, medians
from lazyentity.bench.report.tables import tables as core_tables

_CLIENT = Label("client", "side")


def _latency(seconds: float) -> str:
    return f"with {seconds * 1e3:g} milliseconds of latency" if seconds else "without latency"


def _keys(lines: Sequence[Keys]) -> Iterator[Table]:
    """Yield a table for each latency, in which the ways to read the same keys are neighbours."""
    clients = tuple(dict.fromkeys(line.side for line in lines))
    ways = tuple(dict.fromkeys(line.way for line in lines))
    for latency in dict.fromkeys(line.latency for line in lines):
        yield Table(
            f"many keys {_latency(latency)}, ms",
            f"Milliseconds of wall time {_latency(latency)}:",
            sorted(
                (line for line in lines if line.latency == latency),
                key=lambda line: (line.keys, clients.index(line.side), ways.index(line.way)),
            ),
            (count("keys", "keys"), _CLIENT, Label("way", "way"), count("requests", "requests")),
            (
                Figure("time", "seconds", "ms", divisor=1e-3),
                # Of the last way itself it would be one.
                Figure(
                    f"time / {ways[-1]}", lambda line: None if line.way == ways[-1] else line.ratio
                ),
            ),
        )


def _gets(lines: Sequence[Gets]) -> Table:
    threads = ", ".join(dict.fromkeys(str(line.threads) for line in lines))
    return Table(
        f"single gets of {threads} threads, gets a second",
        f"Single gets of {threads} threads, in gets a second. A lone get is one of a program "
        "with one thread: the time of a coalesced one over that of a single one.",
        lines,
        (Label("latency", lambda line: f"{line.latency * 1e3:g} ms"), _CLIENT),
        (
            *medians("a second", "single", "coalesced", digits=0),
            Figure("coalesced / single", "ratio"),
            Figure("a lone get", "lone", digits=2),
        ),
    )


def _forms(made: Forms) -> Table:
    snapshot = made.lines[0]

    def over(summary: Summary, base: Summary, line: Form) -> float | None:
        return None if line is snapshot else summary.median / base.median

    return Table(
        f"a cold start from {made.entities:,} entities of {made.properties} properties, s",
        f"{made.entities:,} entities of {made.properties} properties, {made.wire / 1e6:.1f} MB on "
        f"the wire. The file has {made.share:.2f} of these bytes. Pickles take "
        f"{made.first.median:,.0f} times as long until the first entity, and "
        f"{made.everything.median:.1f} times as long until 4 properties of all are read. The first "
        f"refresh took {made.save:.1f} seconds, and one without changes {made.unchanged:.1f}:",
        made.lines,
        (Label("form", "side"),),
        (
            Figure("size", "size", "MB", divisor=1e6),
            Figure("first entity", "first", "s", digits=4),
            Figure(
                "first / snapshot", lambda line: over(line.first, snapshot.first, line), digits=2
            ),
            Figure("4 properties of all", "everything", "s", digits=2),
            Figure(
                "all / snapshot",
                lambda line: over(line.everything, snapshot.everything, line),
                digits=2,
            ),
        ),
    )


def _beam(made: Beam) -> Iterator[Table]:
    yield Table(
        f"Beam, {made.entities} entities of {made.properties} properties, µs per entity",
        f"Microseconds of wall time an entity, of {made.entities} with {made.properties} "
        "properties:",
        made.cases,
        (Label("case", "case"),),
        (*medians("µs"), Figure("stock / lazy", "ratio")),
    )
    yield Table(
        f"Beam, CPU time of reading entities of {made.small} properties, µs per entity",
        f"Microseconds of CPU time an entity of {made.small} properties, read by the DoFn in "
        "batches of 1,000:",
        made.costs,
        (count("entities", "entities"),),
        (*medians("µs", digits=2), Figure("stock / lazy", lambda line: line.stock / line.lazy)),
    )
    yield Table(
        "Beam, peak memory of a process that runs the pipeline, MB",
        "Peak memory of a process that runs the pipeline with entities of "
        f"{made.properties} properties:",
        (made,),
        (count("entities", "in_memory"),),
        (
            Figure("stock", lambda line: line.peaks["stock"], "MB", digits=0),
            Figure("lazy", lambda line: line.peaks["lazy"], "MB", digits=0),
            Figure("lazy / stock", lambda line: line.peaks["lazy"] / line.peaks["stock"], digits=2),
        ),
    )


def _bound(line: DocumentCase) -> float | None:
    return None if line.floor is None else line.stock.median / line.floor.median


def _documents(made: Documents) -> Iterator[Table]:
    introduction = (
        f"Microseconds of CPU time a document, of {made.queried} of a query and {made.looked_up} "
        "of a look-up. gRPC alone receives the bytes of the same responses, and makes nothing of "
        "them:"
    )
    if made.written:
        introduction = (
            f"Microseconds of CPU time a document, of {made.written} written one after the other. "
            "gRPC alone sends the bytes of the same requests:"
        )
    yield Table(
        "documents, µs per document",
        introduction,
        made.cases,
        (Label("call", "call"), Label("values", "mix"), count("fields", "fields")),
        (
            *medians("µs"),
            Figure("gRPC alone", "floor", "µs"),
            Figure("stock / lazy", "ratio"),
            Figure("stock / gRPC", _bound),
        ),
    )
    yield Table(
        "documents held, bytes per snapshot",
        "Bytes of memory of a snapshot of which nothing was read, and of the response as "
        "it was sent:",
        made.memory,
        (Label("values", "mix"), count("fields", "fields"), count("response", "wire_bytes")),
        (*medians("bytes", digits=0), Figure("lazy / stock", "ratio", digits=2)),
    )


def _alternatives(made: Alternatives) -> Iterator[Table]:
    size = f"{made.entities} entities of {made.properties} properties"
    labels = Label("library", "library"), Label("way", "way")
    cpu = Figure("CPU time", "cpu", "ms", digits=2)
    for title, introduction, lines, ratio in (
        (
            f"alternatives, {size}, ms",
            f"CPU time of the process that reads {size}, {made.read} read of each: for "
            "google-cloud-datastore a whole query over gRPC, for gcloud-aio-datastore the "
            "conversion of parsed JSON:",
            made.lines,
            "way / lazy",
        ),
        (
            "documents of pymongo, ms",
            "The same properties in documents of pymongo, from BSON:",
            made.documents,
            "way / raw document",
        ),
        (
            "rows of Spanner, ms",
            "The same properties as columns of Spanner's rows, from the bytes of a result set. The "
            "lines of google-cloud-datastore are the same properties from the bytes of a response:",
            made.rows,
            "way / lazyentity",
        ),
    ):
        yield Table(title, introduction, lines, labels, (cpu, Figure(ratio, "ratio")))


def _goal(line: WholeCall) -> str:
    return f"{line.goal:g}" if line.cpu_goal is None else f"{line.goal:g}, CPU {line.cpu_goal:g}"


def _calls(lines: Sequence[WholeCall]) -> Iterator[Table]:
    """Yield the calls of either client, and those next to what no client can avoid."""
    labels = Label("call", "call"), Label("entities x properties", "size"), Label("goal", _goal)
    for at_least, ratio, title, introduction in (
        (
            True,
            "stock / lazy",
            "whole calls",
            "A whole call over loopback gRPC with the garbage collector on, in milliseconds of "
            "wall time; literals read entities of a response that is in memory. The goal is of "
            "the ratio of wall time, at least:",
        ),
        (
            False,
            "lazy / other",
            "whole calls over what comes with them",
            "The same next to a bound: gRPC's stub, which takes and returns bytes, and msgspec, "
            "which parses the document from JSON into dicts. The goal is at most:",
        ),
    ):
        chosen = [line for line in lines if line.at_least is at_least]
        figures = (
            Figure("lazy", "lazy", "ms", digits=2),
            Figure(ratio, "wall", digits=2),
            Figure(f"{ratio}, CPU", "cpu", digits=2),
        )
        yield Table(f"{title}, ms", introduction, chosen, labels, figures)


def _seams(lines: Sequence[SeamGains]) -> Iterator[Table]:
    """Yield the calls, and a row for each seam with a column for each call."""
    yield Table(
        "calls with all seams, CPU ms",
        "Calls with all seams, in milliseconds of CPU time:",
        lines,
        (Label("call", "call"),),
        (Figure("time", "milliseconds", "ms"), Figure("without seams / with all", "stock")),
    )
    yield Table(
        "CPU time without a seam / with all seams",
        "CPU time without a seam, over that with all seams:",
        list(lines[0].gains),
        (Label("without", lambda name: f"``{name}``"),),
        [Figure(line.call, line.gains.__getitem__, digits=2) for line in lines],
    )


def tables(results: Results) -> Iterator[Table]:
    """The tables of everything that the run measured, of any benchmark."""
    yield from core_tables(results)
    if isinstance(results, PageResults):
        yield from (table for table in _page_tables(results) if table.lines)


def _page_tables(results: PageResults) -> Iterator[Table]:
    yield from _keys(results.keys)
    yield _gets(results.gets)
    if results.forms is not None:
        yield _forms(results.forms)
    yield Table(
        "a cache of entities, µs per entity",
        "Pickled stock entities next to the raw bytes of lazy ones:",
        results.cached,
        (Label("step", "step"),),
        (*medians("µs", "pickle", "raw", digits=2), Figure("pickle / raw", "ratio")),
    )
    if results.beam is not None:
        yield from _beam(results.beam)
    if results.documents is not None:
        yield from _documents(results.documents)
    if results.alternatives is not None:
        yield from _alternatives(results.alternatives)
    yield from _calls(results.calls)
    if results.seams:
        yield from _seams(results.seams)
