"""The tables of the pages about many entities, as reStructuredText."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tabulate import tabulate

from lazyentity.bench.measure.environment import Environment
from lazyentity.bench.measure.many_results import Gets, Keys, ManyResults
from lazyentity.bench.measure.results import Results
from lazyentity.bench.report import beside
from lazyentity.bench.report.readme import prose, ratio_text, rendered
from lazyentity.bench.report.tables import environment_line


def _introduction(date: str, where: Environment) -> str:
    return prose(f"Measured on {date[:10]}: {environment_line(where)}.")


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return tabulate(list(rows), headers, tablefmt="rst", disable_numparse=True, stralign="right")


def _latency(seconds: float) -> str:
    return f"with {seconds * 1e3:g} milliseconds of latency" if seconds else "without latency"


def _keys(lines: Sequence[Keys]) -> str:
    """A row for each number of keys and client, a column for each way."""
    ways = tuple(dict.fromkeys(line.way for line in lines))
    found = {(line.keys, line.side, line.way): line for line in lines}
    rows = []
    for keys, side in dict.fromkeys((line.keys, line.side) for line in lines):
        each = [found.get((keys, side, way)) for way in ways]
        requests = [f"{line.requests:,}" if line else "-" for line in each]
        times = [f"{line.seconds.median * 1e3:,.1f}" if line else "-" for line in each]
        ratios = [f"{line.ratio.median:.1f}x" if line else "-" for line in each[:-1]]
        rows.append((f"{keys:,}", side, " / ".join(requests), *times, *ratios))
    headers = ("keys", "client", "requests", *ways, *(f"{way} / {ways[-1]}" for way in ways[:-1]))
    return _table(headers, rows)


def _gets(lines: Sequence[Gets]) -> str:
    rows = (
        (
            f"{line.latency * 1e3:g} ms",
            line.side,
            f"{line.single.median:,.0f}",
            f"{line.coalesced.median:,.0f}",
            ratio_text(line.ratio, 1),
            f"{line.lone.median:.2f}x",
        )
        for line in lines
    )
    headers = "latency", "client", "single", "coalesced", "coalesced / single", "a lone get"
    return _table(headers, rows)


def keys(results: ManyResults) -> str:
    """The tables of bulk calls."""
    blocks = [_introduction(results.date, results.environment)]
    lines = results.measured.keys
    for latency in dict.fromkeys(line.latency for line in lines):
        blocks.append(prose(f"Milliseconds of wall time {_latency(latency)}:"))
        blocks.append(_keys([line for line in lines if line.latency == latency]))
    return "\n\n".join(blocks)


def gets(results: ManyResults) -> str:
    """The table of single gets of many threads."""
    threads = ", ".join(dict.fromkeys(str(line.threads) for line in results.measured.gets))
    text = (
        f"Single gets of {threads} threads, in gets a second. A lone get is one of a program with "
        "one thread: the time of a coalesced one over that of a single one."
    )
    return f"{prose(text)}\n\n{_gets(results.measured.gets)}"


def forms(results: ManyResults) -> str:
    """The table of snapshots and of other forms of the same entities.

    Raises:
        ValueError: the run did not measure them.
    """
    made = results.measured.forms
    if made is None:
        raise ValueError("the results have no forms of entities; measure them by snapshots.py")
    rows = (
        (
            line.side,
            "-" if line.size is None else f"{line.size / 1e6:.1f}",
            f"{line.first.median:.4f}",
            f"{line.everything.median:.2f}",
        )
        for line in made.lines
    )
    headers = "form", "MB", "s to the first entity", "s to 4 properties of all"
    text = (
        f"{made.entities:,} entities of {made.properties} properties, {made.wire / 1e6:.1f} MB on "
        f"the wire. The file has {made.share:.2f} of these bytes. Pickles take "
        f"{made.first.median:,.0f} times as long until the first entity, and "
        f"{made.everything.median:.1f} times as long until 4 properties of all are read. The first "
        f"refresh took {made.save:.1f} seconds, and one without changes {made.unchanged:.1f}."
    )
    blocks = _introduction(results.date, results.environment), _table(headers, rows), prose(text)
    return "\n\n".join(blocks)


def cached(results: ManyResults) -> str:
    """The table of a cache of raw entities."""
    rows = (
        (
            line.step,
            f"{line.pickle.median:.2f}",
            f"{line.raw.median:.2f}",
            ratio_text(line.ratio, 1),
        )
        for line in results.measured.cached
    )
    headers = "step", "pickle µs", "raw µs", "pickle / raw"
    return f"{_introduction(results.date, results.environment)}\n\n{_table(headers, rows)}"


def connector(results: ManyResults) -> str:
    """The tables of a client that is a connector, Apache Beam's.

    Raises:
        ValueError: the run did not measure it.
    """
    made = results.measured.beam
    if made is None:
        raise ValueError("the results have nothing of Apache Beam; measure it by beam.py")
    cases = (
        (
            line.case,
            f"{line.stock.median:,.1f}",
            f"{line.lazy.median:,.1f}",
            ratio_text(line.ratio, 1),
        )
        for line in made.cases
    )
    costs = ((f"{line.entities:,}", f"{line.stock:.2f}", f"{line.lazy:.2f}") for line in made.costs)
    peaks = ", ".join(f"{peak:,.0f} MB with {side} elements" for side, peak in made.peaks.items())
    return "\n\n".join(
        (
            _introduction(results.date, results.environment),
            prose(
                f"Microseconds of wall time an entity, of {made.entities} with {made.properties} "
                "properties:"
            ),
            _table(("case", "stock µs", "lazy µs", "stock / lazy"), cases),
            prose(
                f"Microseconds of CPU time an entity of {made.small} properties, read by the DoFn "
                "in batches of 1,000:"
            ),
            _table(("entities", "stock µs", "lazy µs"), costs),
            prose(
                f"Peak memory of a process that runs the pipeline with {made.in_memory:,} entities "
                f"of {made.properties} properties: {peaks}."
            ),
        )
    )


def beside_core(results: Results) -> str:
    """The tables of packed documents, or of columns."""
    blocks = [_introduction(results.date, results.environment)]
    for table in beside.tables(results):
        blocks += [prose(f"{table.title[0].upper()}{table.title[1:]}:"), rendered(table)]
    return "\n\n".join(blocks)
